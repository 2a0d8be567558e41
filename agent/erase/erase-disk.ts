import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { AgentContext } from '#agent/context.ts';
import { eraseAta, readAtaSecurity } from '#agent/erase/ata-security.ts';
import { identityOf } from '#agent/erase/choose-disks.ts';
import {
  describeMethod,
  type EraseAbilities,
  type EraseMethod,
  overwriteDisk,
  overwritePasses,
} from '#agent/erase/erase-methods.ts';
import { requireNoHiddenSectors } from '#agent/erase/hidden-sectors.ts';
import { formatNvme, readNvmeAbilities, sanitizeNvme } from '#agent/erase/nvme.ts';
import { withRawDisk } from '#agent/erase/raw-disk.ts';
import { type Evidence, noEvidence, plantCanaries, proveErased, readSamples } from '#agent/erase/samples.ts';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { rereadPartitions, waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { EraseOptions } from '#shared/in-band/erase-options.ts';
import type { ErasedDisk, EraseProof } from '#shared/wire/erase-result.ts';

export type EraseServices = Pick<AgentContext, 'run' | 'clock' | 'log' | 'signal'>;

/** How far one disk is. */
export type OnErased = (method: string, doneBytes: number, totalBytes: number) => void;

/** Bytes that the kernel takes at once; between two such windows the erase can be stopped. */
const discardWindowBytes = 16 * 1024 ** 3;

/** @param sharesHardware another namespace of the same NVMe subsystem must stay as it is */
export async function readAbilities(
  services: EraseServices,
  disk: BlockDevice,
  sharesHardware: boolean,
): Promise<EraseAbilities> {
  const name = basename(disk.name);
  return {
    sharesHardware,
    nvme: /^nvme\d+n\d+$/.test(name) ? await readNvmeAbilities(services.run, disk.name) : undefined,
    ata: isScsiName(disk) ? await readAtaSecurity(services.run, disk.name) : undefined,
    discards: Number(await readFile(`/sys/class/block/${name}/queue/discard_max_bytes`, 'utf8')) > 0,
  };
}

/** Recognizes names that ATA disks have, among others. */
function isScsiName({ name }: BlockDevice): boolean {
  return /^sd[a-z]+$/.test(basename(name));
}

/**
 * Erases a disk by the first of the ways that works, and proves it by what can be read back.
 * @throws AppError `storage_error` when none does; `aborted`.
 */
export async function eraseDisk(
  services: EraseServices,
  disk: BlockDevice,
  methods: readonly EraseMethod[],
  options: EraseOptions,
  onErased: OnErased,
): Promise<ErasedDisk> {
  const startedAt = services.clock.now().getTime();
  const tried: string[] = [];
  const failures: unknown[] = [];
  for (const method of methods) {
    // a disk that says it can erase itself and doesn't is broken, or not what it seems: that is the operator's to judge
    if (!method.secure && failures.length > 0 && !options.continueIfSecureEraseFailed) break;
    const name = describeMethod(method);
    services.log.info({ disk: disk.name, serial: disk.serial, method: name }, 'erasing');
    try {
      if (!method.secure && isScsiName(disk)) await requireNoHiddenSectors(services.run, disk.name);
      // again for each way: what one that failed half-way did must not prove the next
      const before = await gatherEvidence(services, disk, method, options);
      await applyMethod(services, disk, method, options, onErased);
      const proof = await prove(services, disk, method, before, options);
      const seconds = (services.clock.now().getTime() - startedAt) / 1000;
      onErased(name, disk.sizeBytes, disk.sizeBytes);
      return {
        ...identityOf(disk),
        method: name,
        bytes: disk.sizeBytes,
        seconds,
        proof,
        ...(tried.length > 0 ? { tried } : {}),
      };
    } catch (error) {
      if (services.signal.aborted) throw error;
      services.log.warn({ err: error, disk: disk.name, method: name }, 'a way to erase the disk did not do');
      tried.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      if (method.kind !== 'discard') failures.push(error);
    }
  }
  throw failures.length === 1
    ? failures[0]
    : new AppError('storage_error', 'no way to erase it worked', { cause: new AggregateError(failures) });
}

/**
 * Reads what the disk holds, and plants random bytes. A disk that takes none, or can't be read, must not be kept from
 * erasing itself: one whose sanitize has failed refuses all else until another has succeeded.
 * @throws AppError `storage_error` for a method that needs to write itself.
 */
async function gatherEvidence(
  { log }: EraseServices,
  disk: BlockDevice,
  method: EraseMethod,
  options: EraseOptions,
): Promise<Evidence> {
  const found: { -readonly [key in keyof Evidence]: Evidence[key] } = { ...noEvidence };
  try {
    await withRawDisk(disk, async (raw, pool) => {
      // where all must read as zeros, what was there before adds nothing
      if (!promisesZeros(method, options)) found.samples = await readSamples(raw, pool);
      found.canaries = await plantCanaries(raw, pool);
    });
  } catch (error) {
    if (!method.secure) throw error;
    log.warn({ err: error, disk: disk.name }, 'nothing could be written to the disk before its erase: less is proved');
  }
  return found;
}

async function applyMethod(
  services: EraseServices,
  disk: BlockDevice,
  method: EraseMethod,
  options: EraseOptions,
  onErased: OnErased,
): Promise<void> {
  const { run, signal } = services;
  const report = (done: number, total = disk.sizeBytes): void => onErased(describeMethod(method), done, total);
  report(0);
  switch (method.kind) {
    case 'nvme_format':
      await formatNvme(run, disk.name, method.secureErase, signal);
      break;
    case 'nvme_sanitize':
      await sanitizeNvme(services, disk.name, method.action, (share) => report(Math.floor(share * disk.sizeBytes)));
      break;
    case 'ata_secure_erase':
      await eraseAta(run, disk.name, method.security, signal);
      break;
    case 'discard':
      await discard(services, disk, report);
      break;
    case 'overwrite': {
      const passes = overwritePasses(options);
      await withRawDisk(disk, async (raw, pool) => {
        for (const [index, pass] of passes.entries()) {
          const onBytes = (bytes: number): void =>
            report(index * disk.sizeBytes + bytes, passes.length * disk.sizeBytes);
          await overwriteDisk(raw, pool, pass, signal, onBytes);
        }
      });
      break;
    }
  }
}

async function discard(services: EraseServices, disk: BlockDevice, report: (done: number) => void): Promise<void> {
  for (let offset = 0; offset < disk.sizeBytes; offset += discardWindowBytes) {
    const length = Math.min(discardWindowBytes, disk.sizeBytes - offset);
    const range = ['--offset', String(offset), '--length', String(length)];
    // --force: its check is for signatures, which are what is to go
    await services.run('blkdiscard', ['--force', ...range, disk.name], {
      timeoutMs: 3_600_000,
      signal: services.signal,
    });
    report(offset + length);
  }
}

async function prove(
  services: EraseServices,
  disk: BlockDevice,
  method: EraseMethod,
  before: Evidence,
  options: EraseOptions,
): Promise<EraseProof> {
  // a controller that has formatted itself announces its namespaces again
  await waitForUdev(services.run);
  await services.run('blockdev', ['--flushbufs', disk.name]);
  const proof = await withRawDisk(disk, (raw, pool) => proveErased(raw, pool, before));
  if (promisesZeros(method, options) && proof.reads !== 'zeros') {
    throw new AppError('storage_error', `${disk.name} does not read as zeros after ${describeMethod(method)}`);
  }
  // the kernel still shows the partitions that were there
  await rereadPartitions(services.run, disk.name);
  return proof;
}

function promisesZeros(method: EraseMethod, options: EraseOptions): boolean {
  return method.kind === 'discard' || (method.kind === 'overwrite' && overwritePasses(options).at(-1) === 'zeros');
}
