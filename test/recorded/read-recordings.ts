import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

/** How much the outside has said, most first: each is explained in the README. */
export const kindsOfSource = ['hardware', 'recording', 'report', 'guide', 'composed'] as const;

/** One file below `test/recorded/<subject>/`, without its reading, whose shape is the subject's own. */
const recordingSchema = z.strictObject({
  /** The public address that it was written after, cut and with other names and numbers. */
  source: z.url({ protocol: /^https$/ }),
  seen: z.enum(kindsOfSource),
  /** The maker's system and version, or the device. */
  system: z.string().min(3),
  /** The thing that the reading shows and another recording doesn't. */
  shows: z.string().min(10),
  /** The texts as the outside prints them, by the command, file or address that was asked. */
  outputs: z.record(z.string(), z.string()),
  /** By output what its source doesn't show: `all`, or which part. */
  added: z.record(z.string(), z.string().min(3)).optional(),
  reading: z.unknown(),
});

export interface Recording<Reading> extends Omit<z.infer<typeof recordingSchema>, 'reading'> {
  /** `nxos/voice-vlan`: the file below its subject's folder. */
  readonly name: string;
  readonly reading: Reading;
}

const root = import.meta.dirname;

/**
 * Reads a subject's recordings, sorted by name.
 * @param subject a folder below `test/recorded`, or one inside it: `switches`, `switches/junos`
 * @param readingSchema shape of the right reading
 * @throws Error naming the file and the field that is wrong; also where the folder has no recording.
 */
export async function readRecordings<Reading>(
  subject: string,
  readingSchema: z.ZodType<Reading>,
): Promise<readonly Recording<Reading>[]> {
  const folder = join(root, subject);
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.yaml')).sort();
  if (files.length === 0) throw new Error(`${folder} has no recording`);
  return Promise.all(files.map((file) => readRecording(join(folder, file), file, readingSchema)));
}

async function readRecording<Reading>(
  path: string,
  file: string,
  readingSchema: z.ZodType<Reading>,
): Promise<Recording<Reading>> {
  const result = recordingSchema
    .extend({ reading: readingSchema })
    .safeParse(parse(await readFile(path, 'utf8'), { strict: true }));
  if (!result.success) throw new Error(`${relative(root, path)}: ${z.prettifyError(result.error)}`);
  return { ...result.data, name: file.slice(0, -'.yaml'.length) };
}
