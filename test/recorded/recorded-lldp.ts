import { InventoryDocument, type LldpTlv } from '#shared/wire/inventory.ts';

/** LLDP as it was recorded, for simulated switches that begin with it. */

const asked = 'lldpcli show neighbors -f keyvalue';

/** TLVs of what lldpd has made of them: lines such as `lldp.eth0.chassis.name=leaf1`. */
export function tlvsOf(keyvalue: string): LldpTlv[] {
  const text = (value: string): string => Buffer.from(value).toString('hex');
  const mac = (value: string): string => value.replaceAll(':', '');
  const forms: Readonly<Record<string, (value: string) => LldpTlv>> = {
    'chassis.mac': (value) => [1, `04${mac(value)}`],
    'chassis.name': (value) => [5, text(value)],
    'chassis.descr': (value) => [6, text(value)],
    'chassis.mgmt-ip': (value) => {
      const bytes = Buffer.from(value.split('.').map(Number)).toString('hex');
      return [8, `0501${bytes}020000000100`];
    },
    'port.ifname': (value) => [2, `05${text(value)}`],
    'port.local': (value) => [2, `07${text(value)}`],
    'port.mac': (value) => [2, `03${mac(value)}`],
    'port.descr': (value) => [4, text(value)],
  };
  return keyvalue
    .trim()
    .split('\n')
    .map((line) => {
      const [, key = '', value = ''] = /^lldp\.\w+\.([\w.-]+)=(.*)$/.exec(line) ?? [];
      const form = forms[key];
      if (!form) throw new Error(`${line} has no TLV`);
      return form(value);
    });
}

/** TLVs that a card has heard, by lldpd or as an inventory has them. */
export function recordedTlvs(outputs: Readonly<Record<string, string>>, card?: string): LldpTlv[] {
  if (outputs['inventory'] === undefined) return tlvsOf(outputs[asked] ?? '');
  const { interfaces } = InventoryDocument.parse(JSON.parse(outputs['inventory']));
  const lldp = interfaces.find(({ name, lldp }) => (card === undefined ? lldp : name === card))?.lldp;
  if (!lldp) throw new Error(`the inventory has no LLDP of ${card ?? 'any card'}`);
  return [...lldp];
}
