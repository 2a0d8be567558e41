import { document, element, location, paint } from '#conductor/board/page/page.ts';
import { type Place } from '#conductor/board/render/fleet/find-places.ts';
import { foreign, html } from '#conductor/board/render/html.ts';

/** Prepares the dialog that goes anywhere. @returns what opens it */
export function prepareGoTo(find: (text: string) => readonly Place[]): () => void {
  const state = { found: [] as readonly Place[], at: 0 };
  const show = (): void => {
    const items = state.found.map(
      ({ words, about }, index) =>
        html`<li role="option" id="go-to-${index}" data-index="${index}" aria-selected="${index === state.at ? 'true' : 'false'}"><b>${foreign(words)}</b> <small>${about}</small></li>`,
    );
    paint(
      'go-to-list',
      items.length > 0
        ? html`${items}`
        : html`<li role="option" aria-selected="false" aria-disabled="true">Nothing is called so.</li>`,
    );
    element('go-to-text').setAttribute('aria-activedescendant', `go-to-${state.at}`);
    document.getElementById(`go-to-${state.at}`)?.scrollIntoView({ block: 'nearest' });
  };
  const search = (): void => {
    state.found = find(element('go-to-text').value);
    state.at = 0;
    show();
  };
  const go = (index: number): void => {
    const place = state.found[index];
    if (!place) return;
    element('go-to').close();
    location.hash = place.href;
  };
  element('go-to-text').addEventListener('input', search);
  element('go-to-text').addEventListener('keydown', (event) => {
    if (event.key === 'Enter') {
      event.preventDefault();
      go(state.at);
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      const last = Math.max(0, state.found.length - 1);
      state.at = Math.min(last, Math.max(0, state.at + (event.key === 'ArrowDown' ? 1 : -1)));
      show();
    }
  });
  element('go-to-list').addEventListener('click', ({ target }) => {
    go(Number(target?.closest('li')?.dataset['index'] ?? -1));
  });
  return () => {
    element('go-to-text').value = '';
    search();
    element('go-to').showModal();
  };
}
