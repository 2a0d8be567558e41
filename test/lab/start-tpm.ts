import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { AppError } from '#shared/errors/app-error.ts';
import { type LabProcess, startLabProcess } from '#test/lab/inside.ts';
import type { LabDirectory } from '#test/lab/lab-directory.ts';
import type { QemuMachine } from '#test/lab/qemu-arguments.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { manufactureTpm } from '#test/support/swtpm.ts';

/**
 * Starts a machine's TPM for one power-on, and makes it before the first: its keys stay, its PCRs begin afresh.
 * @throws AppError `command_failed` when it ends at once
 */
export async function startTpm(
  lab: LabDirectory,
  name: string,
  { state, socket }: NonNullable<QemuMachine['tpm']>,
): Promise<LabProcess> {
  if (!existsSync(state)) {
    mkdirSync(state);
    await manufactureTpm(state);
  }
  rmSync(socket, { force: true });
  const control = ['--ctrl', `type=unixio,path=${socket}`];
  const swtpm = startLabProcess('swtpm', ['socket', '--tpm2', '--tpmstate', `dir=${state}`, ...control], {
    namespace: lab.namespace,
    directory: lab.path,
    name: `${name}-tpm`,
  });
  const ended = swtpm.exited.then((code) => {
    throw new AppError('command_failed', `swtpm ended with ${code} at its start, see ${swtpm.logFile}`);
  });
  await Promise.race([waitUntil('swtpm', () => existsSync(socket) || undefined, { everyMs: 20 }), ended]);
  return swtpm;
}
