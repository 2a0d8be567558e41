import type { Json } from '#conductor/cli/api-client.ts';
import type { Command } from '#conductor/cli/command.ts';
import { listAll } from '#conductor/cli/list-all.ts';
import { cell, print, table } from '#conductor/cli/print.ts';

const conductorList: Command = {
  words: 'conductor list',
  meaning: 'conductors, their groups, and whether they are alive',
  run: async (context, input) => {
    const query = { fields: 'hostname,conductor_group,alive,drivers,updated_at' };
    const conductors = await listAll(context.client, { path: '/v1/conductors', key: 'conductors' }, query);
    const rows = conductors.map((each) => [
      cell(each['hostname']),
      cell(each['conductor_group'] || '-'),
      each['alive'] === true ? 'alive' : 'dead',
      cell(each['updated_at']),
      ((each['drivers'] ?? []) as string[]).join(', '),
    ]);
    const text = table([['name', 'group', 'alive', 'last seen', 'drivers'], ...rows]);
    print(context, input, { json: conductors.map(({ links: _links, ...rest }) => rest), text });
  },
};

const driverList: Command = {
  words: 'driver list',
  meaning: 'drivers, and the conductors that have them',
  run: async (context, input) => {
    const drivers = ((await context.client.call('GET', '/v1/drivers'))?.['drivers'] ?? []) as Json[];
    const json = drivers.map(({ name, hosts }) => ({ name, hosts }));
    const rows = json.map(({ name, hosts }) => [cell(name), (hosts as string[]).join(', ')]);
    print(context, input, { json, text: table([['driver', 'conductors'], ...rows]) });
  },
};

export const conductorCommands: readonly Command[] = [conductorList, driverList];
