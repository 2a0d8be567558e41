import { document, element, type PageEvent } from '#conductor/board/page/page.ts';

/** Acts of the keyboard that the page knows. */
export interface KeyActs {
  /** Goes to the next line, or the one before. */
  readonly move: (by: number) => void;
  readonly choose: (isRange: boolean) => void;
  readonly chooseNone: () => void;
  readonly goTo: () => void;
  /** The key of the filter; `false` = the page has none now. */
  readonly filter: () => boolean;
  readonly help: () => void;
}

const fields = /^(INPUT|TEXTAREA|SELECT)$/;

/** Listens for the keys; those typed into a field, a dialog or a terminal are not the page's. */
export function listenForKeys(acts: KeyActs, isOut: () => boolean): void {
  document.addEventListener('keydown', (event) => {
    if (isOut()) return;
    if (event.key === 'k' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      if (!document.activeElement?.closest('dialog, #terminal')) acts.goTo();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { activeElement: focused } = document;
    if (focused?.closest('dialog, #terminal')) return;
    if (fields.test(focused?.nodeName ?? '')) {
      // the filter keeps what was typed; the lines are next
      if (event.key === 'Escape' || (event.key === 'ArrowDown' && focused?.id === 'filter')) {
        event.preventDefault();
        focused?.blur();
        if (event.key === 'ArrowDown') acts.move(1);
      }
      return;
    }
    if (actOf(event, acts)) event.preventDefault();
  });
}

/** @returns whether the key is one of the page's */
function actOf({ key, shiftKey = false }: PageEvent, acts: KeyActs): boolean {
  const isOnLine = document.activeElement?.closest('#rows, [data-row]') !== null;
  switch (key) {
    case '/':
      if (!acts.filter()) acts.goTo();
      return true;
    case '?':
      acts.help();
      return true;
    case 'j':
    case 'k':
      acts.move(key === 'j' ? 1 : -1);
      return true;
    case 'ArrowDown':
    case 'ArrowUp':
      if (!isOnLine) return false;
      acts.move(key === 'ArrowDown' ? 1 : -1);
      return true;
    case 'x':
    case 'X':
      acts.choose(shiftKey);
      return true;
    case 'Escape':
      acts.chooseNone();
      return false;
    default:
      return false;
  }
}

/** Moves the focus among the lines of a view that is not the fleet's. */
export function moveAmongLines(by: number): void {
  const lines = [...element('view').querySelectorAll('[data-row]')];
  const focused = document.activeElement;
  const now = lines.findIndex((line) => line === focused);
  const next = now === -1 ? 0 : Math.min(lines.length - 1, Math.max(0, now + by));
  lines[next]?.focus();
  lines[next]?.scrollIntoView({ block: 'nearest' });
}
