import { AppError, type ErrorCode, errorCode, inSituation } from '#shared/errors/app-error.ts';
import type { Situation } from '#shared/errors/fault-codes.ts';

/** Situation by the code of what a call to a BMC threw, where the driver has not named one; `undefined` = the code says it. */
const situationOf: Readonly<Record<ErrorCode, Situation | undefined>> = {
  invalid_argument: 'bmc_settings',
  unauthorized: 'bmc_login',
  forbidden: 'bmc_settings',
  not_found: 'bmc_lacks',
  not_acceptable: 'bmc_refused',
  conflict: 'bmc_refused',
  node_locked: undefined,
  power_held: undefined,
  busy: 'bmc_busy',
  not_supported: 'bmc_lacks',
  unavailable: 'bmc_unreachable',
  timeout: 'bmc_silent',
  aborted: undefined,
  lease_lost: undefined,
  command_failed: undefined,
  bmc_error: 'bmc_refused',
  switch_error: undefined,
  agent_error: undefined,
  image_error: undefined,
  storage_error: 'bmc_refused',
  version_mismatch: undefined,
  database_error: undefined,
  internal: undefined,
};

/** Gives what a call to a BMC threw the situation that it is for an operator. */
export function inBmcSituation(error: unknown): unknown {
  const situation = error instanceof AppError ? situationOf[errorCode(error)] : undefined;
  return situation === undefined ? error : inSituation(error, { code: situation });
}
