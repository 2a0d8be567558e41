import { z } from 'zod';
import { ConfigDriveDocuments } from '#conductor/boot/config-drive.ts';
import type { DriverField } from '#conductor/drivers/driver-definition.ts';
import { drivers } from '#conductor/drivers/table/driver-table.ts';
import { expectedMessage } from '#conductor/model/expected.ts';
import { checksumForms, parseImageChecksum } from '#conductor/model/image-checksum.ts';
import { TraitName } from '#conductor/model/trait-name.ts';
import { imageFormats } from '#conductor/nodes/boot/image-info.ts';
import { shownText, strictObject } from '#conductor/sites/documents/schema-faults.ts';
import { parseHints } from '#shared/disks/root-device-hints.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { parseMacAddress } from '#shared/mac-address.ts';
import { isOciReference } from '#shared/oci/reference.ts';
import { parseTargetRaidConfig } from '#shared/raid/target-raid-config.ts';

/**
 * `data` of `drydock/HostProfile/v1` and `drydock/BaremetalNode/v1`: Drydock's fields, and ours (docs/documents.md has the
 * table). A profile is beneath a node, so everything may be absent; `"!"` takes away what is inherited.
 */

const unset = z.literal('!');
const optionalText = shownText.nullish();
const orUnset = <Schema extends z.ZodType>(schema: Schema, what: string) =>
  z.union([unset, schema], expectedMessage(what)).nullish();
const texts = (what: string) => z.array(shownText, expectedMessage(`a list of ${what}`)).nullish();
/** Values by names that nobody knows beforehand. */
const mapping = z.record(z.string(), z.unknown(), expectedMessage('a mapping'));
const labels = z
  .record(z.string(), shownText.nullable(), expectedMessage('a mapping of texts'))
  .superRefine((given, context) => {
    if (Object.keys(given).some((key) => !/^\P{Cc}*$/u.test(key)))
      context.addIssue('has a key with control characters, which a label must not have');
  })
  .nullish();

const macAddress = shownText.transform((given, context) => {
  const mac = given === '!' ? given : parseMacAddress(given);
  if (mac === undefined) context.addIssue('must be a MAC address, such as "52:54:00:12:34:56"');
  return mac ?? given;
});

/** Refuses what Baton's own grammars refuse, in their words. */
function checkedBy(check: (value: Record<string, unknown>) => void) {
  return mapping.superRefine((value, context) => {
    try {
      check(value);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      context.addIssue(`is wrong: ${error.message}`);
    }
  });
}

/** `redfish, ipmi or fake`: what `oob.type` should be. */
export const oobTypes = drivers
  .map(({ site }) => site.types[0])
  .join(', ')
  .replace(/, (\S+)$/, ' or $1');

const oobValues = {
  text: optionalText,
  'whole number': orUnset(z.int().min(0), 'a whole number'),
  'true, false or a path': z.union([z.boolean(), shownText], expectedMessage('true, false or a path')).nullish(),
} as const satisfies Record<NonNullable<DriverField['site']>['value'], z.ZodType>;

const Oob = strictObject({
  type: z.enum([...drivers.flatMap(({ site }) => site.types), '!'], expectedMessage(oobTypes)).nullish(),
  network: optionalText,
  address: optionalText,
  account: optionalText,
  // only rendering makes a password: uploads are refused with one
  credential: z.union([shownText, z.strictObject({ password: shownText })], expectedMessage('text')).nullish(),
  ...Object.fromEntries(
    drivers.flatMap(({ fields }) =>
      Object.values(fields).flatMap(({ site }) => (site ? [[site.name, oobValues[site.value]]] : [])),
    ),
  ),
});

const Interface = strictObject({
  mac: macAddress.nullish(),
  switch_port: orUnset(
    strictObject({ switch_id: shownText, port_id: shownText, switch_info: shownText.exactOptional() }),
    'a mapping with switch_id and port_id',
  ),
  physical_network: optionalText,
  pxe: z.boolean(expectedMessage('true or false')).nullish(),
  networks: texts('networks'),
  device_link: optionalText,
  labels: mapping.nullish(),
  slaves: texts('interfaces'),
  sriov: mapping.nullish(),
});

const Device = strictObject({
  labels: mapping.nullish(),
  volume_group: optionalText,
  partitions: z.array(mapping, expectedMessage('a list of partitions')).nullish(),
});

const imageRule =
  'must be an http:// or https:// URL (a file below BATON_IMAGES_DIR is http://CONDUCTOR:6385/images/FILE), oci://registry/repository:tag, or a name that a baton/Images/v1 explains';
const isUrl = (url: string): boolean => (/^https?:\/\/\S+$/.test(url) && URL.canParse(url)) || isOciReference(url);
const imageUrl = shownText.refine(isUrl, 'must be an http:// or https:// URL, or oci://registry/repository:tag');
/** Airship's sites have a name that MAAS knows: `xenial`. */
const isImageName = (image: string): boolean => /^[A-Za-z0-9][\w.-]*$/.test(image);
const checksum = shownText.refine((given) => given === '!' || parseImageChecksum(given) !== undefined, {
  error: `must be ${checksumForms}`,
});

/** `baton/Images/v1`: what names of images in others' documents mean. */
export const ImagesData = z.record(
  shownText.refine(isImageName, 'must be the name of an image, such as xenial'),
  strictObject({
    image: imageUrl,
    checksum: checksum.exactOptional(),
    image_format: z.enum(imageFormats, expectedMessage(`one of ${imageFormats.join(', ')}`)).exactOptional(),
  }).refine(({ image, checksum: digest }) => digest !== undefined || isOciReference(image), {
    path: ['checksum'],
    error: `is missing: it must be ${checksumForms}`,
  }),
  expectedMessage('a mapping of names to images'),
);
export type NamedImage = z.infer<typeof ImagesData>[string];

const Platform = strictObject({
  image: shownText.refine((image) => image === '!' || isUrl(image) || isImageName(image), imageRule).nullish(),
  checksum: checksum.nullish(),
  image_format: z.enum([...imageFormats, '!'], expectedMessage(`one of ${imageFormats.join(', ')}`)).nullish(),
  kernel: optionalText,
  kernel_params: mapping.nullish(),
});

const settingValue = z.union(
  [z.string(), z.number(), z.boolean(), z.null()],
  expectedMessage('text, a number, true or false'),
);

const design = {
  host_profile: optionalText,
  hardware_profile: optionalText,
  primary_network: optionalText,
  oob: Oob.nullish(),
  interfaces: z.record(z.string(), Interface.nullable(), expectedMessage('a mapping of interfaces')).nullish(),
  storage: strictObject({
    physical_devices: z.record(z.string(), Device.nullable(), expectedMessage('a mapping of devices')).nullish(),
    volume_groups: mapping.nullish(),
    root_device: orUnset(
      checkedBy((hints) => parseHints(hints, 'root_device')),
      'a mapping of root device hints, such as {serial: …}',
    ),
    raid: orUnset(
      checkedBy((raid) => parseTargetRaidConfig(raid, 'it')),
      'a mapping with logical_disks',
    ),
  }).nullish(),
  platform: Platform.nullish(),
  metadata: strictObject({
    tags: texts('tags'),
    owner_data: labels,
    rack: optionalText,
    boot_mac: macAddress.nullish(),
  }).nullish(),
  boot_mode: z.enum(['uefi', 'bios', '!'], expectedMessage('uefi or bios')).nullish(),
  resource_class: shownText.max(80, 'must have at most 80 characters').nullish(),
  conductor_group: shownText.max(255, 'must have at most 255 characters').nullish(),
  traits: z
    .array(z.union([TraitName, shownText.startsWith('!')], 'must be CUSTOM_ and A-Z 0-9 _, or a standard trait'))
    .nullish(),
  bios_settings: z.record(z.string(), settingValue, expectedMessage('a mapping of settings')).nullish(),
  config_drive: orUnset(
    strictObject(ConfigDriveDocuments.shape),
    'a mapping with meta_data, network_data or user_data',
  ),
  in_service: strictObject({
    kubernetes: z.boolean(expectedMessage('true or false')).nullish(),
    ping: orUnset(shownText.regex(/^[\w.:-]+$/, 'must be a host name or an address'), 'a host'),
    tcp: orUnset(shownText.regex(/^\S+:\d{1,5}$/, 'must be HOST:PORT'), 'HOST:PORT'),
    http: orUnset(z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' }), 'a URL'),
  }).nullish(),
};

export const ProfileData = strictObject(design);
export const NodeData = strictObject({
  ...design,
  addressing: z
    .array(
      strictObject({ network: shownText, address: shownText }),
      expectedMessage('a list of networks with addresses'),
    )
    .nullish(),
});
export type NodeDesign = z.infer<typeof NodeData>;
