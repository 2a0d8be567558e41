import { type PatchNode, patchChildren } from '#conductor/board/page/patch-html.ts';
import type { Html } from '#conductor/board/render/html.ts';

/** Parts of a browser that the board uses: its own types would replace Node's in the whole program. */
export interface Element {
  innerHTML: string;
  textContent: string;
  hidden: boolean;
  disabled: boolean;
  value: string;
  className: string;
  readonly isContentEditable: boolean;
  readonly nodeName: string;
  readonly style: { paddingTop: string; paddingBottom: string };
  readonly id: string;
  /** Address of a script. */
  src: string;
  readonly dataset: Readonly<Record<string, string | undefined>>;
  /** In pixels, from the top of what is seen. */
  getBoundingClientRect(): { readonly top: number; readonly width: number; readonly height: number };
  setAttribute(name: string, value: string): void;
  focus(options?: { readonly preventScroll: boolean }): void;
  showModal(): void;
  close(): void;
  blur(): void;
  click(): void;
  readonly open?: boolean;
  removeAttribute(name: string): void;
  scrollIntoView(options: { readonly block: 'nearest'; readonly inline?: 'center' }): void;
  closest(selector: string): Element | null;
  querySelector(selector: string): Element | null;
  querySelectorAll(selector: string): Iterable<Element>;
  append(child: Element): void;
  addEventListener(type: string, listener: (event: PageEvent) => void): void;
}
export interface PageEvent {
  readonly key?: string;
  readonly ctrlKey?: boolean;
  readonly metaKey?: boolean;
  readonly altKey?: boolean;
  readonly shiftKey?: boolean;
  readonly target: Element | null;
  preventDefault(): void;
}
/** Where a terminal is to be, and who hears of it. */
export interface ConsolePlace {
  readonly parent: Element;
  readonly onEnd: (reason: string) => void;
  /** The keyboard is to go elsewhere. */
  readonly onLeave: () => void;
}

/** Opens a terminal, in the script that is loaded when a console is opened. @returns what ends it */
export type OpenTerminal = (place: ConsolePlace, url: string) => () => void;

interface Browser {
  readonly document: {
    title: string;
    readonly hidden: boolean;
    readonly activeElement: Element | null;
    readonly head: Element;
    readonly body: Element;
    createElement(name: 'script'): Element;
    createElement(name: 'template'): { innerHTML: string; readonly content: PatchNode };
    getElementById(id: string): Element | null;
    addEventListener: Element['addEventListener'];
  };
  readonly location: { hash: string; readonly origin: string; readonly pathname: string };
  readonly history: { replaceState(state: null, unused: '', url: string): void };
  readonly localStorage: { getItem(key: string): string | null; setItem(key: string, value: string): void };
  readonly navigator: { readonly clipboard?: { writeText(text: string): Promise<void> } };
  getSelection(): { selectAllChildren(element: Element): void } | null;
  scrollBy(x: number, y: number): void;
  scrollTo(x: number, y: number): void;
  requestAnimationFrame(act: () => void): unknown;
  readonly openTerminal: OpenTerminal;
  readonly innerHeight: number;
  addEventListener(type: 'hashchange' | 'scroll' | 'resize', listener: () => void): void;
}
export const browser = globalThis as unknown as Browser;
export const { document, location } = browser;

/** @throws Error when the page lacks it */
export function element(id: string): Element {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

const painted = new Map<string, string>();

/**
 * Puts HTML that `html` has escaped into an element, if it differs from what is there. An element with an id keeps the keyboard's
 * focus.
 */
export function paint(id: string, content: Html): void {
  const html = String(content);
  if (painted.get(id) === html) return;
  painted.set(id, html);
  const focused = document.activeElement?.id;
  const template = document.createElement('template');
  template.innerHTML = html;
  patchChildren(element(id) as unknown as PatchNode, template.content);
  if (focused && document.activeElement?.id !== focused)
    document.getElementById(focused)?.focus({ preventScroll: true });
}

/** Decodes the address, which somebody may have typed: a `%` that begins nothing stands for itself. Pure. */
export function decodeAddress(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
