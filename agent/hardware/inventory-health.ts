import { z } from 'zod';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';
import type { DiskHealth } from '#shared/wire/inventory.ts';

/** Fields that are read of `smartctl --json`; one that is otherwise than expected costs itself alone. */
const count = z.number().optional().catch(undefined);
const Report = z.looseObject({
  firmware_version: z.string().optional().catch(undefined),
  scsi_revision: z.string().optional().catch(undefined),
  smart_status: z.object({ passed: z.boolean() }).optional().catch(undefined),
  temperature: z.object({ current: z.number() }).optional().catch(undefined),
  power_on_time: z.object({ hours: z.number() }).optional().catch(undefined),
  endurance_used: z.object({ current_percent: z.number() }).optional().catch(undefined),
  scsi_grown_defect_list: count,
  nvme_smart_health_information_log: z
    .looseObject({ percentage_used: count, media_errors: count })
    .optional()
    .catch(undefined),
  ata_smart_attributes: z
    .looseObject({ table: z.array(z.looseObject({ id: z.number(), raw: z.looseObject({ value: z.number() }) })) })
    .optional()
    .catch(undefined),
});

/** Reallocated, pending and uncorrectable sectors. */
const badSectors: ReadonlySet<number> = new Set([5, 197, 198]);
/** A broken disk may let its reader wait for minutes. */
const timeoutMs = 20_000;
/** Each bit says something about the disk, or that it has no S.M.A.R.T. */
const anyExitCode = Array.from({ length: 256 }, (_value, code) => code);

export interface DiskSaying {
  readonly firmware: string | null;
  /** `null` for a disk that says nothing of its health: virtual ones, those behind RAID controllers. */
  readonly health: DiskHealth | null;
}

/** Reads what a disk says of its firmware and health, by `smartctl`. Never rejects. */
export async function readHealth(run: Run, device: string, log: Log): Promise<DiskSaying> {
  try {
    const { stdout } = await run('smartctl', ['--json', '--info', '--health', '--attributes', device], {
      okExitCodes: anyExitCode,
      timeoutMs,
    });
    return parseHealth(stdout);
  } catch (error) {
    log.warn({ err: error, disk: device }, 'could not read the health of the disk');
    return { firmware: null, health: null };
  }
}

/** Parses `smartctl --json --info --health --attributes` of an ATA, SCSI or NVMe disk. */
export function parseHealth(stdout: string): DiskSaying {
  const report = Report.parse(JSON.parse(stdout));
  const { nvme_smart_health_information_log: nvme, ata_smart_attributes: ata } = report;
  const sectors = ata?.table.filter(({ id }) => badSectors.has(id)).map(({ raw }) => raw.value);
  const health: DiskHealth = {
    passed: report.smart_status?.passed ?? null,
    temperature_c: report.temperature?.current ?? null,
    power_on_hours: report.power_on_time?.hours ?? null,
    percent_used: nvme?.percentage_used ?? report.endurance_used?.current_percent ?? null,
    bad_sectors: sectors?.reduce((sum, value) => sum + value, 0) ?? report.scsi_grown_defect_list ?? null,
    media_errors: nvme?.media_errors ?? null,
  };
  const isSilent = Object.values(health).every((value) => value === null);
  return { firmware: report.firmware_version ?? report.scsi_revision ?? null, health: isSilent ? null : health };
}
