// What the tests ask of a page in the browser: each function gives at most eight complaints as texts.
(() => {
  const named = node => `${node.tagName}.${node.getAttribute("class")}`;

  // A box between the node and the page in which it can be scrolled to.
  const scrolls = node => {
    for (let n = node; n && n !== document.body; n = n.parentElement) {
      if (/auto|scroll/.test(getComputedStyle(n).overflowX)) return true;
    }
    return false;
  };

  const overflowing = () => {
    const width = document.documentElement.clientWidth;
    const out = [...document.querySelectorAll("body *")].filter(node => {
      const box = node.getBoundingClientRect();
      return box.width && (box.right > width + 1 || box.left < -1) && !scrolls(node.parentElement);
    });
    return out.slice(0, 8).map(named);
  };

  const cut = () => {
    const out = [...document.querySelectorAll("svg text")].filter(text => {
      const box = text.getBBox(), frame = text.ownerSVGElement.viewBox.baseVal;
      const group = text.closest("g[transform]");
      const x = box.x + (group ? group.transform.baseVal.consolidate().matrix.e : 0);
      return frame.width && (x < frame.x - 0.5 || x + box.width > frame.x + frame.width + 0.5);
    });
    return out.slice(0, 8).map(text => text.textContent);
  };

  const channels = text => (text.match(/[\d.]+/g) || []).map(Number);
  const linear = value => value <= 0.03928 ? value / 12.92 : Math.pow((value + 0.055) / 1.055, 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const behind = node => {
    for (let n = node; n; n = n.parentElement) {
      const colour = channels(getComputedStyle(n).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.9) return colour;
    }
    const scheme = getComputedStyle(document.documentElement).colorScheme;
    return /dark/.test(scheme) && matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  };

  // Contrast by WCAG 2.2, 1.4.3.
  const faint = () => {
    const out = [];
    for (const node of document.querySelectorAll("body *")) {
      const text = [...node.childNodes].filter(n => n.nodeType === 3).map(n => n.textContent).join("").trim();
      if (!text || node.closest("svg") || !node.getClientRects().length) continue;
      const a = luminance(channels(getComputedStyle(node).color)), b = luminance(behind(node));
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < 4.5) out.push(`${named(node)} ${ratio.toFixed(1)} ${text.slice(0, 30)}`);
    }
    return out.slice(0, 8);
  };

  // Boxes that only a mouse can scroll.
  const unreachable = () => {
    const out = [...document.querySelectorAll("body *")].filter(node =>
      node.scrollWidth > node.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(node).overflowX) && node.tabIndex < 0);
    return out.slice(0, 8).map(named);
  };

  return { overflowing: overflowing(), cut: cut(), faint: faint(), unreachable: unreachable(),
    dark: luminance(behind(document.body)) < 0.2 };
})()
