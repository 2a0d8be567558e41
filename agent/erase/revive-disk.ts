import { basename } from 'node:path';
import type { AgentContext } from '#agent/context.ts';
import { readAtaSecurity, unlockAta } from '#agent/erase/ata-security.ts';
import { nameDisk } from '#agent/erase/choose-disks.ts';
import { awaitSanitize } from '#agent/erase/nvme.ts';
import type { BlockDevice } from '#agent/storage/block-device.ts';

/**
 * Brings a disk back on which an erase broke off, before anything reads or writes it: an ATA disk that is locked with
 * our password answers nothing, and an NVMe controller goes on sanitizing after a restart. What can't be brought back
 * is logged: the ways to erase that need no access still come, and say what is wrong where they fail too.
 * @throws AppError `aborted`.
 */
export async function reviveDisk(
  services: Pick<AgentContext, 'run' | 'clock' | 'log' | 'signal' | 'reportProgress'>,
  disk: BlockDevice,
): Promise<void> {
  const { run, log, signal } = services;
  const name = basename(disk.name);
  try {
    if (/^sd[a-z]+$/.test(name)) {
      const security = await readAtaSecurity(run, disk.name);
      if (!security?.enabled && !security?.locked) return;
      await unlockAta(run, disk.name, security);
      log.warn({ disk: disk.name, serial: disk.serial }, 'an erase broke off here: its password is removed');
    } else if (/^nvme\d+n\d+$/.test(name)) {
      const state = await awaitSanitize(services, disk.name, (share) =>
        services.reportProgress({
          phase: `${nameDisk(disk)} still sanitizes: ${Math.floor(share * 100)} %`.slice(0, 100),
        }),
      );
      if (state === 'failed') log.warn({ disk: disk.name, serial: disk.serial }, 'its latest sanitize has failed');
    }
  } catch (error) {
    if (signal.aborted) throw error;
    log.warn(
      { err: error, disk: disk.name, serial: disk.serial },
      'the disk could not be asked about an earlier erase, or not be brought back from it',
    );
  }
}
