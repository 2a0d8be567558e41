import { isIP } from 'node:net';
import { z } from 'zod';
import { expectedMessage } from '#conductor/model/expected.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { ImagesData, type NamedImage } from '#conductor/sites/documents/node-design.ts';
import { fieldFault, readData, shownText } from '#conductor/sites/documents/schema-faults.ts';
import type { SiteDocument } from '#conductor/sites/site.ts';

/**
 * Documents that nodes' documents name beside host profiles (Drydock, "Authoring Site Topology"). Fields that Baton has
 * no use for are let be: ranges, relays, link speeds, versions of hardware.
 */
const mtu = z
  .int(expectedMessage('a whole number'))
  .min(68, 'must be at least 68')
  .max(65_535, 'must be at most 65535')
  .nullish();
const ipAddress = shownText.refine((given) => isIP(given) > 0, 'must be an IP address');
const subnet = shownText.refine((given) => {
  const [address = '', bits = '', ...more] = given.split('/');
  const family = isIP(address);
  return more.length === 0 && family > 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}, 'must be a network, such as 192.0.2.0/24');

const vlanRule = 'must be a number from 1 to 4094';

const NetworkData = z.object({
  // published sites have it as text
  vlan: z.coerce.number(vlanRule).pipe(z.int(vlanRule).min(1, vlanRule).max(4094, vlanRule)).nullish(),
  mtu,
  cidr: subnet.nullish(),
  routedomain: shownText.nullish(),
  routes: z
    .array(z.object({ subnet: subnet.nullish(), gateway: ipAddress, routedomain: shownText.nullish() }))
    .nullish(),
  dns: z.object({ servers: shownText.nullish() }).nullish(),
});
export type DrydockNetwork = z.infer<typeof NetworkData>;

const LinkData = z.object({
  bonding: z
    .object({
      mode: z.enum(
        ['disabled', '802.3ad', 'active-backup', 'balanced-rr'],
        expectedMessage('disabled, 802.3ad, active-backup or balanced-rr'),
      ),
      hash: shownText.nullish(),
      peer_rate: z.enum(['fast', 'slow'], expectedMessage('fast or slow')).nullish(),
      mon_rate: z.coerce.number().nullish(),
      up_delay: z.coerce.number().nullish(),
      down_delay: z.coerce.number().nullish(),
    })
    .nullish(),
  mtu,
  trunking: z
    .object({
      mode: z.enum(['disabled', '802.1q'], expectedMessage('disabled or 802.1q')).nullish(),
      default_network: shownText.nullish(),
    })
    .nullish(),
});
export type DrydockLink = z.infer<typeof LinkData>;

const HardwareData = z.object({
  boot_mode: z.enum(['uefi', 'bios'], expectedMessage('uefi or bios')).nullish(),
  bios_settings: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).nullish(),
  device_aliases: z.record(z.string(), z.object({ address: shownText, bus_type: shownText.nullish() })).nullish(),
});
export type HardwareProfile = z.infer<typeof HardwareData>;

/** All of a site, by name. */
export interface DrydockDocuments {
  readonly networks: ReadonlyMap<string, DrydockNetwork>;
  readonly links: ReadonlyMap<string, DrydockLink>;
  readonly hardware: ReadonlyMap<string, HardwareProfile>;
  /** By the names that `platform.image` may have. */
  readonly images: ReadonlyMap<string, NamedImage>;
}

const drydockSchemas = {
  networks: 'drydock/Network/v1',
  links: 'drydock/NetworkLink/v1',
  hardware: 'drydock/HardwareProfile/v1',
} as const satisfies Record<Exclude<keyof DrydockDocuments, 'images'>, string>;

/** @param of the documents of a schema */
export function readDrydockDocuments(
  of: (schema: string) => readonly SiteDocument[],
  faults: SiteFault[],
): DrydockDocuments {
  const read = <T>(schema: string, data: z.ZodType<T>): ReadonlyMap<string, T> =>
    new Map(
      of(schema).flatMap((document) => {
        const found = readData(document, data, faults);
        return found ? [[document.name, found] as const] : [];
      }),
    );
  return {
    networks: read(drydockSchemas.networks, NetworkData),
    links: read(drydockSchemas.links, LinkData),
    hardware: read(drydockSchemas.hardware, HardwareData),
    images: readImages(of('baton/Images/v1'), faults),
  };
}

function readImages(documents: readonly SiteDocument[], faults: SiteFault[]): ReadonlyMap<string, NamedImage> {
  const images = new Map<string, NamedImage>();
  const firsts = new Map<string, string>();
  for (const document of documents) {
    for (const [name, image] of Object.entries(readData(document, ImagesData, faults) ?? {})) {
      const first = firsts.get(name);
      if (first === undefined) images.set(name, image);
      else faults.push(fieldFault(document, ['data', name], `is explained by ${first} already`, 'DuplicateImage'));
      firsts.set(name, first ?? document.name);
    }
  }
  return images;
}
