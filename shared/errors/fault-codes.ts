import type { ErrorCode } from '#shared/errors/error-codes.ts';

/**
 * Situations that an operator puts right in a way of their own: finer than an `ErrorCode`, which says how an HTTP answer
 * is made. They stand in the database, in the API and between agent and conductor, so one that was released keeps its name.
 */
export const situations = [
  // the machine and its ramdisk
  'ramdisk_silent',
  'agent_silent',
  'agent_missing',
  'agent_reported',
  'agent_answer',
  'other_ramdisk',
  'boot_not_trusted',
  'boot_refused',
  'power_switched',
  'step_under_way',
  // its BMC
  'bmc_unreachable',
  'bmc_silent',
  'bmc_login',
  'bmc_certificate',
  'bmc_busy',
  'bmc_refused',
  'bmc_lacks',
  'bmc_settings',
  'bmc_task',
  'power_unconfirmed',
  'sensor_bad',
  // its switch
  'switch_unreachable',
  'switch_login',
  'switch_identity',
  'switch_busy',
  'switch_refused',
  'switch_settings',
  // the image
  'image_missing',
  'image_denied',
  'image_server',
  'image_stalled',
  'image_replaced',
  'image_checksum',
  'image_unusable',
  'image_too_large',
  'image_address',
  // disks
  'disk_failing',
  'disk_gone',
  'disk_in_use',
  'disk_choice',
  // the plan, clusters, people
  'plan_changed',
  'cluster_wait',
  'time_wait',
  'machine_wait',
  'operator_word',
  /** Recorded by a release of Baton without codes, or with one that this release does not have. */
  'unknown',
] as const;

export type Situation = (typeof situations)[number];

const known: ReadonlySet<string> = new Set(situations);

export function isSituation(text: string): text is Situation {
  return known.has(text);
}

/** Code of everything that can end or hold a step: its situation, else the kind of its error. */
export type FaultCode = ErrorCode | Situation;

/** The code with the one thing that it is about: `/dev/sda`, `leaf1`, an image's URL without its login. */
export interface Fault {
  readonly code: FaultCode;
  readonly subject?: string | undefined;
}
