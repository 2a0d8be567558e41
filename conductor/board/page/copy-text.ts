import { browser, document, type PageEvent } from '#conductor/board/page/page.ts';

const shownMs = 1500;

/** Copies what a button stands behind; a browser that does not let a page copy has it selected, for Ctrl+C. */
export function listenForCopies(): void {
  document.addEventListener('click', ({ target }: PageEvent) => {
    const button = target?.closest('button[data-copy]');
    const text = button?.dataset['copy'];
    if (!button || text === undefined) return;
    const say = (words: string): void => {
      button.setAttribute('data-said', words);
      setTimeout(() => button.removeAttribute('data-said'), shownMs);
    };
    const select = (): void => {
      const code = button.closest('.command')?.querySelector('code');
      if (code) browser.getSelection()?.selectAllChildren(code);
      say('selected');
    };
    const { clipboard } = browser.navigator;
    if (!clipboard) return select();
    clipboard.writeText(text).then(() => say('copied'), select);
  });
}
