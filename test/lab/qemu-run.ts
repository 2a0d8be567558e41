import { AppError } from '#shared/errors/app-error.ts';
import { type LabProcess, startLabProcess } from '#test/lab/inside.ts';
import type { LabDirectory } from '#test/lab/lab-directory.ts';
import { type BootSource, type DiskTrial, type QemuMachine, qemuArguments } from '#test/lab/qemu-arguments.ts';
import { connectQmp, type QmpConnection } from '#test/lab/qmp.ts';
import { startTpm } from '#test/lab/start-tpm.ts';

/** One run of QEMU: from a machine's power-on to its power-off or reboot. */
export interface QemuRun {
  readonly execute: QmpConnection['execute'];
  /** QEMU's reason for its end: `guest-reset`, `guest-shutdown`…; empty when it was killed. */
  readonly ended: Promise<string>;
  /** Pulls the plug: what the guest has written is in the host's page cache, the rest is lost. */
  kill(): Promise<void>;
}

/** @throws AppError `command_failed` when QEMU ends at once. */
export async function startQemu(
  lab: LabDirectory,
  machine: QemuMachine,
  bootOrder: readonly BootSource[],
  trial: DiskTrial,
  cdrom: string | undefined,
): Promise<QemuRun> {
  const tpm = machine.tpm && (await startTpm(lab, machine.name, machine.tpm));
  const process = startLabProcess('qemu-system-x86_64', qemuArguments(machine, bootOrder, trial, cdrom), {
    namespace: lab.namespace,
    directory: lab.path,
    name: `${machine.name}-qemu`,
  });
  const exited = endOf(process, tpm);
  let reason = '';
  const connection = connectQmp(machine.qmpSocket, (event) => {
    if (event.name === 'SHUTDOWN') reason = String(event.data['reason']);
  });
  const qmp = await Promise.race([
    connection,
    exited.then((code) => {
      throw new AppError('command_failed', `QEMU ended with ${code} at its start, see ${process.logFile}`);
    }),
  ]);
  const ended = exited.then(() => {
    qmp.close();
    return reason;
  });
  const kill = async (): Promise<void> => {
    await process.stop('SIGKILL');
    await exited; // the next power-on has the same TPM
  };
  return { execute: qmp.execute, ended, kill };
}

/** Resolves with QEMU's exit code once its TPM has ended too. */
async function endOf(process: LabProcess, tpm: LabProcess | undefined): Promise<number> {
  try {
    return await process.exited;
  } finally {
    await tpm?.stop();
  }
}
