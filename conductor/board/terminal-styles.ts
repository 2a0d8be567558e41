/**
 * xterm.js writes its styles into `style` elements and attributes, which the page's policy forbids; the same by the
 * browser's object model is allowed, and lets no text of a machine in.
 */

interface StyledElement {
  readonly style: { cssText: string };
  textContent: string;
}
declare const document: {
  adoptedStyleSheets: readonly Sheet[];
  createElement(name: string, ...more: unknown[]): StyledElement;
};
interface Sheet {
  replaceSync(css: string): void;
}
declare const CSSStyleSheet: new () => Sheet;
declare const Element: {
  readonly prototype: { setAttribute(this: StyledElement, name: string, value: string): void };
};

/** Adds it to the page. @returns what replaces it */
export function addSheet(css: string): (css: string) => void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  return (next) => sheet.replaceSync(next);
}

/** From here on, once for the page. */
export function styleByObjects(): void {
  const create = document.createElement.bind(document);
  document.createElement = (name, ...more) => {
    if (name !== 'style') return create(name, ...more);
    const standIn = create('template');
    const replace = addSheet('');
    for (const property of ['textContent', 'innerText']) Object.defineProperty(standIn, property, { set: replace });
    return standIn;
  };
  const { prototype } = Element;
  const setAttribute = Reflect.get(prototype, 'setAttribute');
  prototype.setAttribute = function set(name, value) {
    if (name === 'style') this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };
}
