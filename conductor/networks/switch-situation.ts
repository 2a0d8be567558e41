import type { SwitchEntry } from '#conductor/networks/networks-file.ts';
import { AppError, type ErrorCode, errorCode, inSituation } from '#shared/errors/app-error.ts';
import type { Situation } from '#shared/errors/fault-codes.ts';

/** Situation by the code of what a call to a switch threw, where its driver has not named one; `undefined` = the code says it. */
const situationOf: Readonly<Record<ErrorCode, Situation | undefined>> = {
  invalid_argument: 'switch_settings',
  unauthorized: 'switch_login',
  forbidden: 'switch_settings',
  not_found: 'switch_settings',
  not_acceptable: 'switch_refused',
  conflict: 'switch_refused',
  node_locked: undefined,
  power_held: undefined,
  busy: 'switch_busy',
  not_supported: 'switch_settings',
  unavailable: 'switch_unreachable',
  timeout: 'switch_unreachable',
  aborted: undefined,
  lease_lost: undefined,
  command_failed: 'switch_refused',
  bmc_error: undefined,
  switch_error: 'switch_refused',
  agent_error: undefined,
  image_error: undefined,
  storage_error: undefined,
  version_mismatch: undefined,
  database_error: undefined,
  internal: undefined,
};

/** Gives what a call to a switch threw the situation that it is for an operator, and the switch's name. */
export function inSwitchSituation(error: unknown, entry: Pick<SwitchEntry, 'switchId' | 'lldpIds'>): unknown {
  const situation = error instanceof AppError ? situationOf[errorCode(error)] : undefined;
  return situation === undefined ? error : inSituation(error, { code: situation, subject: nameOfSwitch(entry) });
}

const address = /^[0-9a-f]{2}([:-][0-9a-f]{2}){5}$|^([0-9a-f]{4}[.:]){2}[0-9a-f]{4}$|^[\d.]+$/i;

/** Finds the name by which people know a switch: its id in the networks file, or where that is an address a name it has by LLDP. */
function nameOfSwitch({ switchId, lldpIds = [] }: Pick<SwitchEntry, 'switchId' | 'lldpIds'>): string {
  if (!address.test(switchId)) return switchId;
  const name = lldpIds.find((id) => !address.test(id));
  return name === undefined ? switchId : `${name} (${switchId})`;
}
