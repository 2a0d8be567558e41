import { type FetchOptions, fetchSmall } from '#agent/image/fetch-small.ts';
import { fillTemplate } from '#agent/inject/fill-template.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Files are held in memory, of which a machine may have little. */
const maxBytes = 64 * 1024 * 1024;

/**
 * The bytes of a file: base64, or what a URL gives.
 * @throws AppError `invalid_argument` (neither), and as `fetchSmall`.
 */
export async function fileContent(
  file: { readonly path: string; readonly content: string },
  values: Readonly<Record<string, unknown>>,
  options: FetchOptions,
): Promise<Buffer> {
  if (!file.content.includes('://')) return decodeBase64(file.path, file.content);
  const url = fillTemplate(file.content, values);
  if (!/^https?:\/\//i.test(url)) {
    throw new AppError('invalid_argument', `content of ${file.path} is neither an http(s) URL nor base64`);
  }
  return fetchSmall(url, file.path, maxBytes, options);
}

function decodeBase64(path: string, text: string): Buffer {
  const compact = text.replaceAll(/\s/g, '');
  // Buffer.from ignores what is no base64
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(compact) || compact.length % 4 === 1) {
    throw new AppError('invalid_argument', `content of ${path} is neither base64 nor a URL`);
  }
  return Buffer.from(compact, 'base64');
}
