import type { AskOptions, Choices, Question } from '#conductor/board/page/ask-first.ts';
import { askFirst, askWhich, reasonOf } from '#conductor/board/page/ask-first.ts';
import type { Fleet } from '#conductor/board/page/follow-fleet.ts';
import { browser, element, paint } from '#conductor/board/page/page.ts';
import { type Item, paintItems } from '#conductor/board/page/paint-items.ts';
import { type Html, html, joined, nothing } from '#conductor/board/render/html.ts';

/** The user who looks, and what the page knows already. */
export interface Viewer {
  readonly role: string;
  readonly project: string | null;
  /** Finds the UUID of a node that is known by name. */
  readonly uuidOf: (nodeName: string) => string | undefined;
  /** The UUID of one without a name, or that is not known. */
  readonly nameOf: (nodeUuid: string) => string;
  /** Followed: as it is now. */
  readonly fleet: Fleet;
  /** Nodes that each conductor works on, by its name. */
  readonly countWork: () => ReadonlyMap<string, number>;
}

/** A page beside the fleet's and a node's: asked for as long as it is open. */
export interface View {
  readonly title: string;
  /** @param rest of the address: `#site/01J…` */
  readonly read: (rest: string, viewer: Viewer) => Promise<Picture>;
}

export interface Picture {
  /** HTML, each part in an element of its own: what is scrolled stays where it is. Pure. */
  readonly render: (now: Date) => readonly Html[];
  /** A list that is painted piece by piece into an element that the HTML has; `undefined` = it has none now. */
  readonly items?: (now: Date) => { readonly into: string; readonly cards: readonly Item[] } | undefined;
  /** Asked for when one is pressed, where they change with the fleet. */
  readonly buttons?: readonly ViewButton[] | (() => readonly ViewButton[]);
  /** Until it is asked for again. */
  readonly againMs: number;
}

export interface ViewButton {
  readonly name: string;
  readonly title: string;
  /** The picture has it where it belongs. */
  readonly isInRow?: boolean;
  readonly asks: Question | { readonly meaning: string; readonly choices: Choices };
}

export interface OpenView {
  /** Times on the page grow. */
  readonly paint: () => void;
  /** Something has changed: it is asked for at once. */
  readonly nudge: () => void;
  readonly press: (name: string, options: AskOptions) => void;
  readonly close: () => void;
}

const parts = 4;
const retryMs = 3000;
/** Part of a frame's 16 ms; laying out takes the rest. */
const sliceMs = 8;

/** Renders what stands in place of a view that was never read: it is read, or it was refused. */
const renderAbsence = (error: string | undefined): Html =>
  error === undefined
    ? html`<p class="loading">Reading…</p>`
    : html`<div class="empty"><p class="failed">${error}</p><p>It is asked again in ${retryMs / 1000} s.</p></div>`;

/** Asks for what the view shows and paints it, until it is closed. */
export function openView(
  { title, read }: View,
  rest: string,
  { viewer, onTrouble }: { readonly viewer: Viewer; readonly onTrouble: (error: unknown) => void },
): OpenView {
  const state = {
    isOpen: true,
    isReading: false,
    isStale: false,
    /** Whether items are left for the next frame. */
    hasMore: false,
    picture: undefined as Picture | undefined,
    error: undefined as string | undefined,
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Paints as many items as a frame has time for, and the others in the frames after. */
  const paintSome = (): void => {
    const list = state.isOpen ? state.picture?.items?.(new Date()) : undefined;
    const until = Date.now() + sliceMs;
    const isWhole = !list || paintItems(list.into, list.cards, () => Date.now() > until);
    if (isWhole || state.hasMore) return;
    state.hasMore = true;
    browser.requestAnimationFrame(() => {
      state.hasMore = false;
      paintSome();
    });
  };
  const paintAll = (): void => {
    const { picture } = state;
    const content = picture?.render(new Date()) ?? [renderAbsence(state.error)];
    const { buttons: given = [] } = picture ?? {};
    const above = (typeof given === 'function' ? [] : given).filter(({ isInRow = false }) => !isInRow);
    const buttons = above.map(
      (each) => html`<button type="button" id="do-${each.name}" data-name="${each.name}">${each.title}</button>`,
    );
    element('view-title').textContent = title;
    // what was read before stays, under the reason why it is read no more
    const refused = picture && state.error !== undefined && html`<b class="failed">${state.error}</b> `;
    paint('view-actions', html`${refused}${joined(buttons, ' ')}`);
    for (let index = 0; index < parts; index += 1) paint(`view-${index + 1}`, content[index] ?? nothing);
    paintSome();
  };
  const look = async (): Promise<void> => {
    clearTimeout(timer);
    if (state.isReading) {
      state.isStale = true;
      return;
    }
    state.isReading = true;
    state.isStale = false;
    const result = await read(rest, viewer).catch((error: unknown) => ({ error }));
    state.isReading = false;
    if (!state.isOpen) return;
    if ('error' in result) {
      state.error = reasonOf(result.error);
      onTrouble(result.error);
    } else {
      state.error = undefined;
      state.picture = result;
    }
    paintAll();
    if (state.isStale) void look();
    else timer = setTimeout(() => void look(), 'error' in result ? retryMs : result.againMs);
  };
  paintAll();
  void look();
  return {
    paint: paintAll,
    nudge: () => void look(),
    press: (name, options) => {
      const { buttons: given = [] } = state.picture ?? {};
      const button = (typeof given === 'function' ? given() : given).find((each) => each.name === name);
      if (!button) return;
      if ('choices' in button.asks) askWhich({ title: button.title, ...button.asks }, options);
      else void askFirst(button.asks, options);
    },
    close: () => {
      state.isOpen = false;
      clearTimeout(timer);
    },
  };
}
