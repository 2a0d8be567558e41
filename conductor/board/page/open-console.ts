import { get } from '#conductor/board/data/ask-api.ts';
import type { Question } from '#conductor/board/page/ask-first.ts';
import { browser, type ConsolePlace, document, element, location } from '#conductor/board/page/page.ts';
import type { BoardNode } from '#conductor/board/render/render-board.ts';

const script = 'board/terminal.js';
const state = { end: undefined as (() => void) | undefined, loading: undefined as Promise<void> | undefined };

export type ConsoleKind = 'shell' | 'serial';

/**
 * A shell in the node's ramdisk, or the machine's serial console, with the caller's rights.
 * @throws Error in the conductor's words where there is none
 */
export async function openConsole(node: BoardNode, kind: ConsoleKind): Promise<void> {
  closeConsole();
  const path = `v1/nodes/${node.uuid}/console/${kind}`;
  // a WebSocket that is refused says no reason
  const { during } = await get<{ readonly during: string | null }>(path);
  await (state.loading ??= load());
  const name = node.name ?? node.uuid;
  const step = during === null ? '' : `, during ${during}`;
  element('console-title').textContent = `${kind === 'shell' ? 'Console' : 'Serial console'} of ${name}${step}`;
  element('console-command').textContent = `baton console ${kind === 'shell' ? '' : '--serial '}${name}`;
  element('console-end').textContent = '';
  element('console').hidden = false;
  const url = `${location.origin.replace(/^http/, 'ws')}${location.pathname.replace(/board$/, '')}${path}`;
  const place: ConsolePlace = {
    parent: element('terminal'),
    onEnd: (reason) => {
      element('console-end').textContent = `The console was closed: ${reason}`;
    },
    onLeave: () => element('console-close').focus(),
  };
  state.end = browser.openTerminal(place, url);
}

/** Composes the question where the serial console is not enabled yet; `undefined` = it is. */
export async function askToEnable(node: BoardNode): Promise<Question | undefined> {
  const path = `v1/nodes/${node.uuid}`;
  const { console_enabled: isEnabled } = await get<{ readonly console_enabled: boolean }>(
    `${path}?fields=console_enabled`,
  );
  if (isEnabled) return undefined;
  const name = node.name ?? node.uuid;
  const request = { method: 'PUT', path: `${path}/states/console`, body: { enabled: true } };
  return {
    title: `Enable the serial console: ${name}`,
    meaning: 'The BMC passes the serial line on from then on, to one console at a time.',
    prepare: () => ({ sending: [{ name, request }] }),
  };
}

export function closeConsole(): void {
  state.end?.();
  state.end = undefined;
  element('console').hidden = true;
}

function load(): Promise<void> {
  return new Promise((resolve, reject) => {
    const tag = document.createElement('script');
    tag.src = script;
    tag.addEventListener('load', () => resolve());
    tag.addEventListener('error', () => {
      state.loading = undefined;
      reject(new Error(`${script} could not be loaded`));
    });
    document.head.append(tag);
  });
}
