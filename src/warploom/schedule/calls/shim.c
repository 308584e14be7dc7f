/* The short way of a call: arrays of Python by the buffer protocol, compared with the form of a call before, and the kernel run.

   Compiled once and loaded with the interpreter's lock held. The declarations are those of Python's stable interface (3.11). */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct _object PyObject;
typedef ptrdiff_t Py_ssize_t;

typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} Py_buffer;

extern int PyObject_GetBuffer(PyObject *, Py_buffer *, int);
extern void PyBuffer_Release(Py_buffer *);
extern void PyErr_Clear(void);
extern PyObject *PyTuple_GetItem(PyObject *, Py_ssize_t);
extern Py_ssize_t PyTuple_Size(PyObject *);
extern void *PyEval_SaveThread(void);
extern void PyEval_RestoreThread(void *);

enum { MOST = 16, MOST_AXES = 8, C_CONTIGUOUS_WITH_FORMAT = 0x0020 | 0x0010 | 0x0008 | 0x0004, WRITABLE = 0x0001 };

typedef void (*Kernel)(void *const *, const double *, ptrdiff_t, ptrdiff_t, char *);

typedef struct {
    int64_t ndim, is_written, itemsize, format;
    int64_t shape[MOST_AXES];
} Array;

typedef struct {
    int64_t count, units, second_units, order[MOST];
    Kernel kernel, second;
    const double *parameters;
    Array arrays[MOST];
} Form;

static int fits(const Py_buffer *view, const Array *wanted) {
    if (view->ndim != wanted->ndim || view->itemsize != wanted->itemsize) return 0;
    if (view->format == NULL || view->format[0] != (char)wanted->format || view->format[1] != 0) return 0;
    for (int n = 0; n < view->ndim; ++n)
        if (view->shape[n] != wanted->shape[n]) return 0;
    return (uintptr_t)view->buf % (size_t)view->itemsize == 0;
}

/* 1: the kernel ran. 0: this call is not of the form, and nothing was done. */
int warploom_short(const Form *form, PyObject *given) {
    if (PyTuple_Size(given) != form->count) return 0;
    Py_buffer views[MOST];
    int held = 0, is_good = 1;
    for (; held < form->count; ++held) {
        const Array *wanted = &form->arrays[held];
        const int flags = C_CONTIGUOUS_WITH_FORMAT | (wanted->is_written ? WRITABLE : 0);
        if (PyObject_GetBuffer(PyTuple_GetItem(given, held), &views[held], flags) != 0) {
            PyErr_Clear();
            is_good = 0;
            break;
        }
        if (!fits(&views[held], wanted)) {
            ++held;
            is_good = 0;
            break;
        }
    }
    void *pointers[MOST];
    for (int n = 0; is_good && n < form->count; ++n) {
        pointers[n] = views[form->order[n]].buf;
        if (!form->arrays[n].is_written) continue;
        const char *low = views[n].buf, *high = low + views[n].len;
        for (int m = 0; m < form->count; ++m) {
            const char *other = views[m].buf;
            if (m != n && other < high && low < other + views[m].len) is_good = 0;
        }
    }
    if (is_good) {
        void *state = PyEval_SaveThread();
        form->kernel(pointers, form->parameters, 0, form->units, NULL);
        if (form->second != NULL) form->second(pointers, form->parameters, 0, form->second_units, NULL);
        PyEval_RestoreThread(state);
    }
    while (held > 0) PyBuffer_Release(&views[--held]);
    return is_good;
}
