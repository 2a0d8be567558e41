import type { Json } from '#conductor/cli/shell/api-client.ts';

/** Keys of `driver_info` that say which machine is driven: the BMC's address, and the machine behind it. */
const bmcKey = /_(address|host|port|system_id|channel)$/;
const ofBmc = /^([a-z]+)_(?:address|host)$/;
const defaultPorts: Readonly<Record<string, string>> = { ipmi: '623', redfish: '443', snmp: '161' };

/**
 * Names the fields by which a node that is written and the node of its name are two machines: UUID, driver, BMC. Pure.
 * @param needsProof a node that is written without UUID and BMC is not taken for one that has a BMC
 * @returns paths, `driver_info.redfish_address`; none = one machine, as far as both say
 */
export function describeOtherMachine(written: Json, found: Json, { needsProof }: { needsProof: boolean }): string[] {
  const word = (value: unknown): unknown => (typeof value === 'string' ? value.toLowerCase() : value);
  const isOther = (key: string): boolean => written[key] !== undefined && word(written[key]) !== word(found[key]);
  const [mine, others] = [bmcFields(written['driver_info']), bmcFields(found['driver_info'])];
  // an address without a port has the usual one
  const ports = [...mine.keys()].filter((key) => ofBmc.test(key)).map((key) => key.replace(ofBmc, '$1_port'));
  const paths = [...new Set([...mine.keys(), ...ports])].filter((key) => others.get(key) !== mine.get(key));
  const unproved = needsProof && mine.size === 0 && written['uuid'] === undefined ? [...others.keys()] : [];
  return [...['uuid', 'driver'].filter(isOther), ...[...paths, ...unproved].map((key) => `driver_info.${key}`)];
}

/** A BMC's place in the network, and the machine behind it; '' = the BMC has only one. */
interface BmcPlace {
  readonly host: string;
  readonly machine: string;
}

/** Reads where the BMC of a node is; `undefined` = the node names none. Pure. */
export function bmcPlaceOf(driverInfo: unknown): BmcPlace | undefined {
  const fields = bmcFields(driverInfo);
  const found = [...fields].find(([key]) => ofBmc.test(key));
  if (!found) return undefined;
  const [family = ''] = found[0].split('_');
  const url = URL.parse(found[1].includes('://') ? found[1] : `https://${bracketed(found[1])}`);
  const host = url?.hostname ?? found[1];
  const port = fields.get(`${family}_port`) ?? url?.port ?? '';
  const behind = [...fields].filter(([key]) => /_(system_id|channel|target_address|transit_address)$/.test(key));
  return {
    host: port === '' ? host : `${host} port ${port}`,
    machine: behind
      .map(([, value]) => value)
      .sort()
      .join(' '),
  };
}

/** The keys that name the BMC, with values that are alike where they mean the same. */
function bmcFields(driverInfo: unknown): Map<string, string> {
  if (typeof driverInfo !== 'object' || driverInfo === null) return new Map();
  return new Map(
    Object.entries(driverInfo).flatMap(([key, value]): [string, string][] => {
      if (!bmcKey.test(key) || /terminal|local/.test(key) || value === null || value === undefined) return [];
      const text = plainValue(key, String(value).trim());
      return text === '' ? [] : [[key, text]];
    }),
  );
}

function plainValue(key: string, text: string): string {
  if (key.endsWith('_system_id')) return text.replace(/\/+$/, '').replace(/^.*\/Systems\//i, '');
  if (key.endsWith('_port')) return defaultPorts[key.split('_')[0] ?? ''] === text ? '' : text;
  if (key === 'redfish_address') {
    const url = URL.parse(text.includes('://') ? text : `https://${bracketed(text)}`);
    return url ? `${url.protocol}//${url.host}` : text.toLowerCase();
  }
  return text.toLowerCase();
}

function bracketed(host: string): string {
  return (host.match(/:/g) ?? []).length > 1 && !host.startsWith('[') ? `[${host}]` : host;
}
