import { type FetchOptions, fetchSmall } from '#agent/image/fetch/fetch-small.ts';
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
  // Buffer.from ignores what is not base64
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(compact) || compact.length % 4 === 1) {
    throw new AppError('invalid_argument', `content of ${path} is neither base64 nor a URL`);
  }
  return Buffer.from(compact, 'base64');
}

/**
 * Fills in `{node[uuid]}`, `{node[properties][cpu_arch]}`, `{ports[0][address]}`, as Python's `str.format` does for
 * ironic-python-agent; `{{` and `}}` stand for braces.
 * @throws AppError `invalid_argument` naming the place that stands for nothing.
 */
export function fillTemplate(template: string, values: Readonly<Record<string, unknown>>): string {
  return template.replaceAll(/\{\{|\}\}|\{([^{}]*)\}/g, (found, place: string | undefined) => {
    if (found === '{{') return '{';
    if (found === '}}') return '}';
    return lookUp(place ?? '', values);
  });
}

function lookUp(place: string, values: Readonly<Record<string, unknown>>): string {
  const parts = /^([a-z_]+)((?:\[[^\][]+\])*)$/i.exec(place);
  const keys = parts
    ? [parts[1] ?? '', ...[...(parts[2] ?? '').matchAll(/\[([^\]]+)\]/g)].map(([, key]) => key ?? '')]
    : [];
  let value: unknown = keys.length === 0 ? undefined : values;
  for (const key of keys) {
    const inside = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
    value = inside ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
  }
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new AppError('invalid_argument', `{${place}} stands for no text: try {node[uuid]} or {ports[0][address]}`);
}
