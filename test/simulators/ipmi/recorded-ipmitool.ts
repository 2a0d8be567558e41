import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A program `ipmitool` that prints what was recorded, for the driver that runs it. */
export interface RecordedIpmitool {
  /** Folder of the program: to be the first of `PATH`. */
  readonly folder: string;
  remove(): Promise<void>;
}

/**
 * Makes the program. A command that was not recorded is refused as by a BMC that lacks it.
 * @param outputs by command, `ipmitool power status`
 * @param fails whether these are the words of a program that failed
 */
export async function makeRecordedIpmitool(
  outputs: Readonly<Record<string, string>>,
  { fails }: { readonly fails: boolean },
): Promise<RecordedIpmitool> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-ipmitool-'));
  const texts = join(folder, 'texts');
  await mkdir(texts);
  for (const [command, text] of Object.entries(outputs)) await writeFile(join(texts, command), text);
  // what is before -E is how the BMC is reached
  const script = `#!/bin/sh
while [ $# -gt 0 ] && [ "$1" != -E ]; do shift; done
shift
[ -f "${texts}/ipmitool $*" ] || { echo "Invalid command" >&2; exit 1; }
cat "${texts}/ipmitool $*" ${fails ? '>&2; exit 1' : ''}
`;
  await writeFile(join(folder, 'ipmitool'), script);
  await chmod(join(folder, 'ipmitool'), 0o755);
  return { folder, remove: () => rm(folder, { recursive: true }) };
}
