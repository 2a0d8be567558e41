import { z } from 'zod';
import { type FetchOptions, fetchSmall } from '#agent/image/fetch-small.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Ironic has numbers only, which JSON can write in decimal alone; `"0644"` is what people mean. */
const Mode = z
  .union([
    z.number().int(),
    z
      .string()
      .regex(/^[0-7]{3,5}$/, 'must be an octal number of three or four digits, as "0644"')
      .transform((text) => Number.parseInt(text, 8)),
  ])
  .pipe(z.number().min(0).max(0o7777));

const Id = z.number().int().min(0);

/** One file to be put on the installed disk, or removed from it: the grammar of ironic-python-agent's `inject_files`. */
const InjectedFile = z
  .strictObject({
    path: z.string().regex(/[^/]$/, 'must name a file, not a folder'),
    /** Number of a partition of the root device, a device, or a label; without it the partition is searched. */
    partition: z.union([z.number().int().min(1), z.string().min(1)]).optional(),
    /** Base64, or a URL with templates as `{node[uuid]}`. */
    content: z.string().optional(),
    deleted: z.boolean().optional(),
    mode: Mode.optional(),
    /** Of the file's folder where it had to be made. */
    dirmode: Mode.optional(),
    owner: Id.optional(),
    group: Id.optional(),
  })
  .superRefine((file, check) => {
    const refuse = (key: string, message: string): void =>
      check.addIssue({ code: 'custom', path: [key], message, input: file });
    const parts = file.path.split('/').filter(Boolean);
    if (parts.includes('..')) refuse('path', 'must not have ".." in it');
    if (file.path.includes('\0')) refuse('path', 'must not have a NUL byte in it');
    if (parts.length < 2 && file.partition === undefined) {
      refuse('partition', 'is required for a file in the root folder: its path does not identify a partition');
    }
    if (file.deleted && file.content) refuse('content', 'and deleted exclude each other');
    if (!file.deleted && file.content === undefined) refuse('content', 'is missing');
  });
export type InjectedFile = z.infer<typeof InjectedFile>;

/**
 * The files of the node (`properties.inject_files`) and of the request, in this order.
 * @throws AppError `invalid_argument` naming list, index and key.
 */
export function readInjectedFiles(
  properties: Readonly<Record<string, unknown>>,
  files: unknown,
): readonly InjectedFile[] {
  return [...parseFiles(properties['inject_files'], 'properties.inject_files'), ...parseFiles(files, 'files')];
}

function parseFiles(value: unknown, source: string): readonly InjectedFile[] {
  const parsed = z.array(InjectedFile).safeParse(value ?? []);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(
    ({ path: [index, ...keys], message }) =>
      `${source}${index === undefined ? '' : `[${String(index)}]`}${keys.map((key) => `.${String(key)}`).join('')} ${message}`,
  );
  throw new AppError('invalid_argument', faults.join('; '));
}

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
