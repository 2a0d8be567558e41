import { type Fleet, type FleetNode, givenFields } from '#conductor/cli/import/fleet.ts';
import { parseCsv } from '#conductor/cli/import/parse-csv.ts';
import type { Json } from '#conductor/cli/shell/api-client.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

/** Columns of a table of machines beside `driver_info.…`, `properties.…`, `extra.…` and `instance_info.…`. */
export const csvColumns: Readonly<Record<string, string>> = {
  name: 'name of the node (required)',
  driver: 'redfish (default), ipmi, idrac …',
  address: "the BMC's: https://192.0.2.9, or its name for IPMI",
  username: "of the BMC's login",
  password: "of the BMC's login",
  mac: 'MAC address of a port; mac2, mac3 … for more',
  switch: 'switch_id of the port; switch2 …',
  port: 'port_id at the switch; port2 …',
  class: 'resource class',
  rack: 'properties.rack',
  traits: 'traits, with spaces between',
  uuid: 'UUID that the node is to have',
  owner: 'owner',
  description: 'description',
  image: 'URL of the image that runs there',
  checksum: 'of that image',
  adopt: 'yes = its own system runs there, and stays',
};

const plain: Readonly<Record<string, string>> = {
  class: 'resource_class',
  uuid: 'uuid',
  owner: 'owner',
  description: 'description',
};
const dotted = /^(driver_info|properties|extra|instance_info)\.[\w.-]+$/;
const ofPort = /^(mac|switch|port)(\d*)$/;

/**
 * Reads a table of machines whose first row names the columns. Pure.
 * @throws AppError `invalid_argument` with one message that lists all problems
 */
export function readCsv(text: string, file: string): Fleet {
  const [head = [], ...rows] = parseCsv(text, file);
  const names = head.map((name) => name.trim().toLowerCase());
  const problems = names
    .filter((name) => !(name in csvColumns) && !dotted.test(name) && !ofPort.test(name))
    .map((name) => `column ${name}: it is none of ${Object.keys(csvColumns).join(', ')}, driver_info.KEY …`);
  if (!names.includes('name')) problems.push('column name: it must be there');
  const nodes = rows.flatMap((row, index) => {
    const cells = new Map(names.map((name, place) => [name, (row[place] ?? '').trim()]));
    const wrong = row.length > names.length ? [`it has ${row.length} cells, and the first row ${names.length}`] : [];
    wrong.push(...describeWrongRow(cells));
    problems.push(...wrong.map((words) => `row ${index + 2}: ${words}`));
    return wrong.length > 0 ? [] : [readRow(cells)];
  });
  if (rows.length === 0) problems.push('it has no rows below the first');
  if (problems.length > 0)
    throw usageError(`${file}: nothing was sent, for it has problems:\n  ${problems.join('\n  ')}`);
  return { source: file, nodes, left: [] };
}

function describeWrongRow(cells: ReadonlyMap<string, string>): string[] {
  const wrong: string[] = [];
  if ((cells.get('name') ?? '') === '') wrong.push('name: it must be given');
  const adopt = cells.get('adopt') ?? '';
  if (!/^(yes|no|)$/i.test(adopt)) wrong.push(`adopt: it must be yes or no, not "${adopt}"`);
  for (const [name, cell] of cells) {
    if (/^mac\d*$/.test(name) && cell !== '' && parseMacAddress(cell) === undefined) {
      wrong.push(`${name}: "${cell}" is no MAC address`);
    }
    const [, part, number = ''] = ofPort.exec(name) ?? [];
    if (part !== undefined && part !== 'mac' && cell !== '' && (cells.get(`mac${number}`) ?? '') === '') {
      wrong.push(`${name}: it goes with mac${number}`);
    }
  }
  return wrong;
}

function readRow(cells: ReadonlyMap<string, string>): FleetNode {
  const cell = (name: string): string | undefined => cells.get(name) || undefined;
  const driver = cell('driver') ?? 'redfish';
  const family = driver === 'ipmi' ? 'ipmi' : 'redfish';
  const documents: Record<string, Json> = {};
  const put = (path: string, value: string | undefined): void => {
    const [first = '', ...rest] = path.split('.');
    if (value !== undefined) (documents[first] ??= {})[rest.join('.')] = value;
  };
  for (const key of ['address', 'username', 'password']) put(`driver_info.${family}_${key}`, cell(key));
  put('properties.rack', cell('rack'));
  put('instance_info.image_source', cell('image'));
  put('instance_info.image_checksum', cell('checksum'));
  for (const [name, value] of cells) if (dotted.test(name)) put(name, value || undefined);
  const name = cell('name') ?? '';
  const fields = Object.fromEntries(Object.entries(plain).map(([column, field]) => [field, cell(column)]));
  return {
    name,
    driver,
    fields: givenFields({ name, driver, ...documents, ...fields }),
    traits: (cell('traits') ?? '').split(/\s+/).filter((trait) => trait !== ''),
    ports: readPorts(cells),
    portgroups: [],
    stateThere: '',
    goal: /^yes$/i.test(cell('adopt') ?? '') ? 'active' : cell('address') === undefined ? 'enroll' : 'manageable',
    left: [],
  };
}

function readPorts(cells: ReadonlyMap<string, string>): FleetNode['ports'] {
  return [...cells].flatMap(([name, text]) => {
    const [, number] = /^mac(\d*)$/.exec(name) ?? [];
    const address = parseMacAddress(text);
    if (number === undefined || address === undefined) return [];
    const link = givenFields({
      switch_id: cells.get(`switch${number}`) || undefined,
      port_id: cells.get(`port${number}`) || undefined,
    });
    const plug = Object.keys(link).length === 0 ? {} : { local_link_connection: link };
    return [{ address, portgroup: undefined, fields: { address, ...plug } }];
  });
}
