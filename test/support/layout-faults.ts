/**
 * Script for a page, whose value is what is wrong with its layout, each with where: words that a line breaks inside, things
 * that lie over one another, a page that scrolls sideways. Words longer than thirty signs may be broken, and those of
 * plain letters at their hyphens; what an ellipsis cuts is not broken.
 */
export const layoutFaults = `(() => {
  const faults = [];
  const wider = document.documentElement.scrollWidth - innerWidth;
  if (wider > 0) faults.push('the page is ' + wider + ' pixels wider than its window');
  const longest = 30;
  // parts far out of sight are not laid out
  const drawn = { contentVisibilityAuto: true };
  // an ancestor may cut off a part of it
  const seen = (element, rect) => {
    let { left, top, right, bottom } = rect;
    for (let each = element; each && each !== document.body; each = each.parentElement) {
      const style = getComputedStyle(each);
      if (style.visibility === 'hidden' || style.clipPath !== 'none') return undefined;
      if (style.overflowX === 'visible' && style.overflowY === 'visible') continue;
      const box = each.getBoundingClientRect();
      [left, top] = [Math.max(left, box.left), Math.max(top, box.top)];
      [right, bottom] = [Math.min(right, box.right), Math.min(bottom, box.bottom)];
    }
    return right - left > 1 && bottom - top > 1 ? { left, top, right, bottom } : undefined;
  };
  const dialog = document.querySelector('dialog[open]');
  const root = dialog ?? document.body;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const texts = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!parent || !node.nodeValue.trim() || !parent.checkVisibility(drawn)) continue;
    if (parent.closest('dialog:not([open]), #terminal, pre, details:not([open]) > :not(summary)')) continue;
    const range = document.createRange();
    for (const { 0: word, index } of node.nodeValue.matchAll(/\\S+/g)) {
      if (word.length > longest || /^\\W?[a-z]+(-[a-z]+)+\\W?$/i.test(word)) continue;
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const lines = new Set([...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => Math.round(top / 4)));
      if (lines.size > 1) faults.push('a line breaks inside ' + word);
    }
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      const part = seen(parent, rect);
      if (part) texts.push({ ...part, parent, text: node.nodeValue.trim().slice(0, 40) });
    }
  }
  for (const field of root.querySelectorAll('input, button:empty, progress')) {
    if (!field.checkVisibility(drawn) || field.closest('dialog:not([open])')) continue;
    const part = seen(field, field.getBoundingClientRect());
    if (part) texts.push({ ...part, parent: field, text: field.id || field.className || field.nodeName });
  }
  // lines of one text may touch
  const slack = 3;
  texts.sort((a, b) => a.top - b.top);
  for (const [index, a] of texts.entries())
    for (let next = index + 1; next < texts.length && texts[next].top < a.bottom - slack; next += 1) {
      const b = texts[next];
      // what an ellipsis cuts is laid out twice
      if (a.parent === b.parent) continue;
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > slack && high > slack) faults.push(a.text + ' lies over ' + b.text);
    }
  return [...new Set(faults)].slice(0, 20);
})()`;
