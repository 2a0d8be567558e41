import { NoAnswer } from '#conductor/board/data/ask-api.ts';
import { reasonOf } from '#conductor/board/page/ask-first.ts';
import type { Fleet } from '#conductor/board/page/follow-fleet.ts';
import { document, element } from '#conductor/board/page/page.ts';

/** The line of views, and whether the page is up to date. */

/** Marks the view that is open among all. */
export function markView(names: readonly string[], open: string): void {
  for (const name of names) element(`nav-${name}`).setAttribute('aria-current', name === open ? 'page' : 'false');
  showMarked();
}

/** Brings the marked view's name into sight: on a phone the line of views is longer than the screen. */
export function showMarked(): void {
  element('views').querySelector('[aria-current="page"]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
}

/** Greys data that are no longer followed: they stay, under the time at which they were true. */
export function showOffline({ isKnown, heardAt }: Fleet, error: unknown): void {
  document.body.className = isKnown ? 'stale' : '';
  const since = heardAt === undefined ? '' : ` since ${heardAt.toTimeString().slice(0, 8)}`;
  element('link').textContent = '○ offline';
  element('link').className = 'offline';
  element('message').textContent =
    error instanceof NoAnswer
      ? `No answer from the conductor${since}; trying again.`
      : `Not up to date${since}: ${reasonOf(error)}; trying again.`;
}

export function showLive(): void {
  element('link').textContent = '● live';
  element('link').className = 'live';
  element('message').textContent = '';
}
