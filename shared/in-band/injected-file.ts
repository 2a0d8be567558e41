import { z } from 'zod';
import { boundedList } from '#shared/bounded-list.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { firstIssues } from '#shared/errors/describe-issues.ts';

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
export const InjectedFile = z
  .strictObject({
    path: z.string().regex(/[^/]$/, 'must name a file, not a folder'),
    /** Number of a partition of the root device, a device, or a label; without it the partition is searched. */
    partition: z.union([z.number().int().min(1), z.string().min(1)]).optional(),
    /** Base64, or a URL with templates as `{node[uuid]}`. */
    content: z.string().optional(),
    deleted: z.boolean().optional(),
    mode: Mode.optional(),
    /** Mode of the file's folder where it had to be made. */
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
 * Reads the files of the node (`properties.inject_files`) and of the request, in this order.
 * @throws AppError `invalid_argument` naming list, index and key.
 */
export function readInjectedFiles(
  properties: Readonly<Record<string, unknown>>,
  files: unknown,
): readonly InjectedFile[] {
  return [...parseFiles(properties['inject_files'], 'properties.inject_files'), ...parseFiles(files, 'files')];
}

const mostFiles = 1_000;

function parseFiles(value: unknown, source: string): readonly InjectedFile[] {
  const parsed = boundedList(z.array(InjectedFile), mostFiles).safeParse(value ?? []);
  if (parsed.success) return parsed.data;
  const faults = firstIssues(
    parsed.error.issues,
    ({ path: [index, ...keys], message }) =>
      `${source}${index === undefined ? '' : `[${String(index)}]`}${keys.map((key) => `.${String(key)}`).join('')} ${message}`,
  );
  throw new AppError('invalid_argument', faults.join('; '));
}
