import type { ComputerSystem } from '#conductor/drivers/redfish/client/schemas.ts';

/** Ways in which some makers' machines differ from the standard, where nothing that they show says so. */
export type MakersWay =
  | 'boots virtual CDs as UsbCd'
  | 'fills EXT alone from addresses'
  | 'forgets the boot mode'
  | 'takes pushed images for a resource'
  | 'takes pushed images by their type'
  | 'takes pushed images for an empty list';

interface Row {
  readonly way: MakersWay;
  readonly maker: RegExp;
  /** Models of the maker that do as the standard says. */
  readonly except?: RegExp;
  /** Public address of what is known of it. */
  readonly source: string;
}

const sushyNotes = 'https://github.com/openstack/sushy/blob/master/releasenotes/notes';

export const makersWays: readonly Row[] = [
  {
    // X11 and X12 list Cd, too, and boot nothing by it
    way: 'boots virtual CDs as UsbCd',
    maker: /super ?micro/i,
    except: /^ARS-111GL-NHR$/i,
    source: `${sushyNotes}/supermicro-vmedia-dev-workaround-cc7a870c9a99d92b.yaml`,
  },
  {
    // XCC lists those for uploads and for its console first, and says of all that they are for CDs
    way: 'fills EXT alone from addresses',
    maker: /lenovo/i,
    source: 'https://pubs.lenovo.com/xcc3-restapi/insert_eject_virtual_media_patch',
  },
  {
    // an override without a mode falls back to legacy
    way: 'forgets the boot mode',
    maker: /super ?micro/i,
    source: 'https://github.com/bmc-toolbox/bmclib/pull/459',
  },
  {
    // the system's Bios, or the manager
    way: 'takes pushed images for a resource',
    maker: /super ?micro/i,
    source: 'https://github.com/fwupd/fwupd/pull/4836',
  },
  {
    // by a part of their own, OemParameters; MegaRAC is in machines of many makers, and says so in the service's root
    way: 'takes pushed images by their type',
    maker: /^(AMI|American Megatrends)\b/i,
    source: 'https://github.com/ansible-collections/community.general/issues/8825',
  },
  {
    way: 'takes pushed images for an empty list',
    maker: /nvidia|wiwynn/i,
    source: 'https://github.com/dsx-ai-factory/libredfish/pull/39',
  },
];

export function hasMakersWay(
  way: MakersWay,
  { Manufacturer: maker, Model: model }: Pick<ComputerSystem, 'Manufacturer' | 'Model'>,
): boolean {
  return makersWays.some(
    (row) => row.way === way && row.maker.test(maker ?? '') && row.except?.test(model?.trim() ?? '') !== true,
  );
}
