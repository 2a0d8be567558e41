import type { Html } from '#conductor/board/render/html.ts';

/** Makes the text of HTML, without its tags, with single spaces. */
export const textOf = (content: Html | readonly Html[]): string =>
  (Array.isArray(content) ? content.map(String).join(' ') : String(content))
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
