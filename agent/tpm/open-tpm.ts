import { type EventLog, readEventLog } from '#agent/tpm/event-log.ts';
import { createTpm, type Tpm } from '#agent/tpm/tpm.ts';
import { findTpm, noTpm, openTpmDevice } from '#agent/tpm/tpm-device.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

/** A machine's TPM, and what its firmware says that it has measured. */
export interface MachineTpm {
  readonly tpm: Tpm;
  readonly readEventLog: () => Promise<EventLog>;
}

/** @throws AppError `not_found`: the machine has no TPM 2.0; `unavailable` */
export type OpenTpm = (log: Log, signal: AbortSignal) => Promise<MachineTpm>;

/** Opens this machine's TPM 2.0. */
export const openTpm: OpenTpm = async (log, signal) => {
  const name = await findTpm();
  const tpm = createTpm(await openTpmDevice(name), { log, signal });
  return { tpm, readEventLog: () => readEventLog(name) };
};

/** Stands for a machine without TPM. */
export const withoutTpm: OpenTpm = () => Promise.reject(new AppError('not_found', noTpm));
