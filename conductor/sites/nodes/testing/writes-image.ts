import { writeFile } from 'node:fs/promises';
import type { Run } from '#shared/process/run.ts';

/** In place of xorrisofs, which a development machine may lack: whatever the config drive's documents are. */
export const writesImage: Run = async (_command, args) => {
  await writeFile(args[args.indexOf('-o') + 1] ?? '', 'an image');
  return { stdout: '', stderr: '', exitCode: 0, durationMs: 0 };
};
