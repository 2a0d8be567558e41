import { drivers, findDriver } from '#conductor/drivers/table/driver-table.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { readAttestationMode } from '#conductor/model/tpm/attestation-mode.ts';
import { readDeployBoot } from '#conductor/nodes/deploy-boot.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { didYouMean } from '#shared/words.ts';

/** Keys that the conductor and in-band steps read of every node. */
const generalKeys = [
  'attestation',
  'deploy_boot',
  'disk_erasure_concurrency',
  'fast_track',
  'kernel_append_params',
  'ramdisk_boot',
  'wipe_special_filesystems',
];

/** Settings of in-band steps, those of custom ones too; and those of Ironic's `ansible` deploy interface. */
const agentKey = /^(agent|ansible)_[\w-]+$/;

/**
 * Keys that Ironic's own drivers read, of its releases before too (`drac_…`, `config_via_floppy`): clients write them to
 * nodes as they do for Ironic. Those that no driver's fields name have no effect here (docs/api.md).
 */
const ironicKeys = [
  'bootloader',
  'cleaning_network',
  'cleaning_runbook',
  'config_via_floppy',
  'config_via_removable',
  'deploy_forces_oob_reboot',
  'deploy_iso',
  'deploy_kernel',
  'deploy_ramdisk',
  'drac_address',
  'drac_password',
  'drac_path',
  'drac_port',
  'drac_protocol',
  'drac_username',
  'external_http_url',
  'firmware_update_unresponsive_bmc_wait',
  'force_persistent_boot_device',
  'has_dedicated_power_supply',
  'image_download_source',
  'image_http_proxy',
  'image_https_proxy',
  'image_no_proxy',
  'inspection_network',
  'ipmi_force_boot_device',
  'ipmi_hex_kg_key',
  'ipmi_terminal_port',
  'provisioning_network',
  'pxe_template',
  'redfish_root_prefix',
  'rescue_iso',
  'rescue_kernel',
  'rescue_ramdisk',
  'rescuing_network',
  'servicing_network',
  'vmedia_transport_protocol',
];

/** Keys of every driver: a node that changes its driver keeps what the old one read. */
const driverKeys = drivers.flatMap(({ fields }) => Object.keys(fields));
const knownKeys: ReadonlySet<string> = new Set([...driverKeys, ...generalKeys, ...ironicKeys]);

/**
 * `driver_info` holds only known keys: of any other it would not be clear whether it is a secret.
 * @param before as it is stored: its keys may stay, as those of an older Baton or of Ironic
 * @throws AppError `invalid_argument` naming the key, and the one that was probably meant.
 */
export function refuseUnknownKeys(
  driver: string,
  after: Readonly<Record<string, unknown>>,
  before: Readonly<Record<string, unknown>> = {},
): void {
  const unknown = Object.keys(after).find(
    (key) => !knownKeys.has(key) && !agentKey.test(key) && !Object.hasOwn(before, key),
  );
  if (unknown === undefined) return;
  const own = Object.keys(findDriver(driver)?.fields ?? {});
  const key = unknown.slice(0, 100);
  throw new AppError(
    'invalid_argument',
    `driver_info: '${key}' is not known${didYouMean(key, [...own, ...knownKeys])}; ${driver} reads ${own.join(', ')}. ` +
      'Notes about a node belong in extra.',
  );
}

type Documents = Pick<NodeRow, 'driverInfo' | 'instanceInfo'>;

/**
 * Checks what can be told by the value alone; the rest is found when the node is validated.
 * @param before as it is stored: a value that stays the same is not checked
 * @throws AppError `invalid_argument` naming the field and what would be right.
 */
export function refuseWrongValues(
  driver: string,
  after: Documents,
  before: Documents = { driverInfo: {}, instanceInfo: {} },
): void {
  const isNew = (document: keyof Documents, key: string): boolean =>
    JSON.stringify(after[document][key]) !== JSON.stringify(before[document][key]);
  if (isNew('instanceInfo', 'deploy_boot')) readDeployBoot('instance_info', after.instanceInfo);
  if (isNew('driverInfo', 'deploy_boot')) readDeployBoot('driver_info', after.driverInfo);
  if (isNew('driverInfo', 'attestation')) readAttestationMode(after.driverInfo);
  const definition = findDriver(driver);
  for (const [key, value] of Object.entries(after.driverInfo)) {
    const fault = isNew('driverInfo', key) ? definition?.fieldFault?.(key, value ?? undefined) : undefined;
    if (fault && value !== null) throw new AppError('invalid_argument', `driver_info.${key}: ${fault}`);
  }
}

/**
 * Lists what a node lacks before it can be managed and allocated: `driver_info/ipmi_password`, `resource_class`. Pure.
 */
export function listMissing(node: Pick<NodeRow, 'driver' | 'driverInfo' | 'resourceClass'>): string[] {
  const bmc = findDriver(node.driver)?.bmc;
  const fields = [bmc?.address, bmc?.username, bmc?.password].filter((field) => field !== undefined);
  return [
    ...fields.filter((field) => !node.driverInfo[field]).map((field) => `driver_info/${field}`),
    ...(node.resourceClass === null ? ['resource_class'] : []),
  ];
}

/** By the property that holds a login's secret: those that decide where, and how well guarded, it is sent. */
const waysOfLogins: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    drivers.flatMap(({ fields }) =>
      Object.entries(fields).flatMap(([name, { secret }]) => (secret ? [[name, secret.sentBy]] : [])),
    ),
  ),
  // of a volume target: CHAP
  auth_password: ['target_portal', 'target_portals', 'target_iqn', 'auth_method'],
};

/**
 * Anyone who may write an address but only sees `******` must not have the secret sent to a machine of their own: to another
 * place goes only a secret that is written again. Pure.
 * @param document `driver_info`, `properties`: as errors name it
 * @param after with what was kept in place of `******`
 * @throws AppError `invalid_argument` naming what changes and the secret that must come along.
 */
export function requireLoginForNewAddress(
  document: string,
  after: Readonly<Record<string, unknown>>,
  before: Readonly<Record<string, unknown>>,
): void {
  const isSame = (key: string): boolean => JSON.stringify(after[key] ?? null) === JSON.stringify(before[key] ?? null);
  for (const [secret, ways] of Object.entries(waysOfLogins)) {
    // each sealing of the same text is another one: what is equal was not written
    const isKept = (after[secret] ?? null) !== null && isSame(secret);
    const moved = isKept ? ways.filter((key) => !isSame(key)) : [];
    if (moved.length === 0) continue;
    throw new AppError(
      'invalid_argument',
      `${document}: ${moved.join(', ')} decides where ${secret} is sent, and secrets are not shown: write ${document}/${secret} ` +
        'again in the same patch.',
    );
  }
}
