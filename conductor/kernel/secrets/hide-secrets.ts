import { mask } from '#conductor/kernel/secrets/mask-document.ts';
import { AppError, errorChain, errorCode, isRetryable } from '#shared/errors/app-error.ts';

/** A shorter one hides in harmless words; it is replaced where it stands as a word of its own. */
const recognizableLength = 5;

/** Others' words (a BMC's, an agent's) without the secrets that they repeat. */
export type Hide = (text: string) => string;

/** @param texts secrets in clear; asked for with the first words that there are */
export function hideSecrets(texts: () => readonly string[]): Hide {
  const memory: { patterns?: readonly RegExp[] } = {};
  return (text) => {
    memory.patterns ??= patternsOf(texts());
    return memory.patterns.reduce((words, pattern) => words.replaceAll(pattern, mask), text);
  };
}

/** Longest first: one may be part of another. */
function patternsOf(texts: readonly string[]): RegExp[] {
  const written = texts
    .flatMap((text) => [text, ...text.split('\n')])
    // as it stands in JSON and in URLs
    .flatMap((text) => [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text.toWellFormed())])
    .map((text) => text.trim())
    .filter((text) => text !== '');
  return [...new Set(written)]
    .sort((a, b) => b.length - a.length)
    .map((text) => {
      const exact = text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
      return new RegExp(text.length >= recognizableLength ? exact : `(?<![\\w-])${exact}(?![\\w-])`, 'g');
    });
}

/** The same error, or one of the same code in its place where some layer of it repeats a secret. */
export function errorWithout(hide: Hide, error: unknown): unknown {
  const chain = errorChain(error);
  const masked = hide(chain);
  if (masked === chain) return error;
  const details = error instanceof AppError ? error.details : {};
  return new AppError(errorCode(error), masked, { retryable: isRetryable(error), details });
}

/** The value with the texts in it, at any depth, without secrets. */
export function valueWithout(hide: Hide, value: unknown): unknown {
  if (typeof value === 'string') return hide(value);
  if (Array.isArray(value)) return value.map((each: unknown) => valueWithout(hide, each));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, valueWithout(hide, inner)]));
}
