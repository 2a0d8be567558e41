import { afterEach, beforeEach, expect, onTestFailed, test } from 'vitest';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type ConductorPair, startConductorPair } from '#test/support/conductor-pair.ts';
import { bmcCredential, siteDocument, startSimulatedSite } from '#test/support/simulated-site.ts';
import { createSiteOperator } from '#test/support/site-operator.ts';

/**
 * Allocations and site actions of a conductor that dies go on elsewhere, though no lease runs out, no
 * heartbeat is missed and nobody looks for what is left behind, for a day: its session's end is all that tells.
 */

const settings = {
  BATON_LEASE_SECONDS: '86400',
  BATON_CONDUCTOR_TIMEOUT: '86400',
  BATON_TAKEOVER_INTERVAL: '86400',
};
const machines = 6;

let pair: ConductorPair;
beforeEach(async () => {
  pair = await startConductorPair({ machines, stepMs: 50, settings });
  onTestFailed(() => {
    for (const each of [pair.first, pair.second]) process.stderr.write(`---\n${each.log().slice(-4000)}\n`);
  });
});
afterEach(() => pair.close());

/** Pauses the first conductor until `look` finds what it is to be killed amid; lets it go on otherwise. */
async function pauseFirst<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const { first } = pair;
  const pause = async (): Promise<T | undefined> => {
    process.kill(first.pid(), 'SIGSTOP');
    const found = await look();
    if (found === undefined) process.kill(first.pid(), 'SIGCONT');
    return found;
  };
  return waitUntil(what, pause, { everyMs: 5 });
}

test('allocations of a killed conductor end elsewhere, and no machine is given out twice', async () => {
  const { first, operator, database, names } = pair;
  await Promise.all(
    names.map((name) =>
      operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/resource_class', value: 'r' }]),
    ),
  );
  const asked = Array.from({ length: 40 }, (_, index) => `a-${index}`);
  const ask = async (name: string): Promise<void> => {
    const body = JSON.stringify({ name, resource_class: 'r', wait: 600 });
    const headers = { 'Content-Type': 'application/json', 'X-OpenStack-Ironic-API-Version': '1.96' };
    // what has no answer when its conductor dies is not asked for again
    await fetch(`${first.url}/v1/allocations`, { method: 'POST', headers, body }).catch(() => undefined);
  };
  const asking = Promise.all(asked.map(ask));
  const left = await pauseFirst('open allocations of the first', async () => {
    const { rows } = await database.query<{ uuid: string }>(
      "select uuid from allocations where conductor = 'first' and state = 'allocating'",
    );
    return rows.length > 0 ? rows.map(({ uuid }) => uuid) : undefined;
  });
  await first.kill('SIGKILL');
  await asking;
  const taken = async () => {
    const { rows } = await database.query("select from allocations where conductor = 'first' and state = 'allocating'");
    return rows.length === 0 || undefined;
  };
  await waitUntil('them to be taken over', taken);
  const all = Array.from({ length: machines }, (_, index) => ({ name: `b-${index}`, resource_class: 'r', wait: 600 }));
  await Promise.all(all.map((allocation) => operator.call('POST', '/v1/allocations', allocation)));
  const served = async () => {
    const { rows } = await database.query<{ node_uuid: string }>(
      'select node_uuid from allocations where node_uuid is not null',
    );
    return rows.length === machines ? rows : undefined;
  };
  const rows = await waitUntil('all machines to be given out', served);
  expect(new Set(rows.map((row) => row.node_uuid)).size).toBe(machines);
  const { rows: kept } = await database.query<{ conductor: string }>(
    'select conductor from allocations where uuid = any($1)',
    [left],
  );
  expect(kept.map(({ conductor }) => conductor)).toEqual(left.map(() => 'second'));
});

test('a site action of a killed conductor goes on elsewhere, and each machine is deployed once', async () => {
  const { first, second, database } = pair;
  const members = ['one', 'two', 'three', 'four'].map((name) => ({ name, rack: 'rack01', tags: [] }));
  const site = await startSimulatedSite(members, { conductorUrl: () => second.url, stepMs: 100 });
  try {
    const viaFirst = createSiteOperator(first.url);
    await viaFirst.setCredential(bmcCredential.name, bmcCredential.account);
    const strategy = siteDocument('shipyard/DeploymentStrategy/v1', 'deployment-strategy', {
      groups: ['one two', 'three four'].map((nodes, index) => ({
        name: `group-${index}`,
        critical: true,
        success_criteria: { percent_successful_nodes: 100 },
        depends_on: index === 0 ? [] : ['group-0'],
        selectors: [{ node_names: nodes.split(' ') }],
      })),
    });
    await viaFirst.commit('site', `${site.documents}---\n${strategy}`);
    process.kill(second.pid(), 'SIGSTOP'); // or it might be the one that claims it
    const id = await viaFirst.createAction('deploy_site');
    const claimed = async () => {
      const { rows } = await database.query("select from site_actions where holder = 'first'");
      return rows.length > 0 || undefined;
    };
    await waitUntil('the first to claim it', claimed);
    process.kill(second.pid(), 'SIGCONT');
    await pauseFirst('the first at the action, amid a deploy', async () => {
      const { rows } = await database.query(
        `select from site_actions a join site_action_nodes n on n.action_id = a.id
         where a.id = $1 and a.holder = 'first' and n.phase is not null`,
        [id],
      );
      return rows.length > 0 || undefined;
    });
    await first.kill('SIGKILL');
    const action = await createSiteOperator(second.url).waitForEnd(id);
    expect(action.groups?.map(({ stage }) => stage)).toEqual(['success', 'success']);
    expect(second.log()).toContain('site action taken over');
    const disk = ['erase_devices_metadata', 'prepare_disks', 'write_image demo.raw with config drive', 'tune_image'];
    expect([...site.machines.values()].map((machine) => machine.disk)).toEqual(members.map(() => disk));
    const boots = [...site.machines.values()].map((machine) => machine.boots());
    expect(new Set(boots).size).toBe(1);
  } finally {
    await site.close();
  }
});
