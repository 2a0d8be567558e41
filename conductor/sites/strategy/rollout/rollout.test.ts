import { describe, expect, test } from 'vitest';
import { newRemark } from '#conductor/model/remarks/remark-words.ts';
import type { RolloutWindow } from '#conductor/model/site/rollout.ts';
import type { GroupDefinition, NodePhase } from '#conductor/model/site/site-run.ts';
import { planSite } from '#conductor/sites/strategy/plan-site.ts';
import { planRollout } from '#conductor/sites/strategy/rollout/plan-rollout.ts';
import { whyPause } from '#conductor/sites/strategy/rollout/why-pause.ts';
import { isOpen, isTimeZone } from '#conductor/sites/strategy/rollout/window.ts';
import { type Simulation, simulateSite } from '#conductor/sites/strategy/testing/simulate-site.ts';

const racks = ['r1', 'r1', 'r2', 'r2', 'r3', undefined];
const nodes = new Map(
  racks.map((rack, index) => {
    const name = `n${index + 1}`;
    return [name, { name, tags: [], labels: { pdu: `p${index % 2}` }, ...(rack === undefined ? {} : { rack }) }];
  }),
);

function simulate(rules: Partial<GroupDefinition>, simulation: Simulation = {}) {
  const group = { name: 'g', critical: false, depends_on: [], selectors: [], ...rules };
  return simulateSite(
    planSite({ nodes, strategy: { name: 's', groups: [group], max_parallel_groups: 1 } }),
    simulation,
  );
}
const begins = (log: readonly string[]) => log.filter((line) => line.startsWith('prepare '));
const failing =
  (...names: string[]) =>
  (node: string, phase: NodePhase) => ({
    state: phase === 'deploy' && names.includes(node) ? ('failed' as const) : ('done' as const),
  });

describe('canaries', () => {
  test('come first, must be in service and stay so; then all others', () => {
    const { log, begun } = simulate({ canary: { nodes: 2, stay_seconds: 30 } });
    expect(begins(log)).toEqual(['prepare g: n1 n2', 'prepare g: n3 n4 n5 n6']);
    expect(log).toContain('g: canary n1, n2, in service since 1970-01-01T00:00:02.000Z, to stay so for 30 s');
    expect(log.indexOf('g: canaries passed')).toBeLessThan(log.indexOf('prepare g: n3 n4 n5 n6'));
    expect(begun.map(({ node }) => node).slice(0, 4)).toEqual(['n1', 'n2', 'n1', 'n2']);
  });

  test('one fails: the action pauses, and after that the next node is a canary', () => {
    const { log, pauses } = simulate({ canary: { nodes: 1, stay_seconds: 0 } }, { outcome: failing('n1') });
    expect(pauses).toBe(1);
    expect(log).toContain('g: pauses (canary n1 failed)');
    expect(begins(log)).toEqual(['prepare g: n1', 'prepare g: n2', 'prepare g: n3 n4 n5 n6']);
  });

  test('one falls out of service while it is watched: the action pauses, and its time begins again', () => {
    const { log, pauses } = simulate(
      { canary: { nodes: 1, stay_seconds: 30 } },
      { outOfService: (beat) => (beat === 10 ? new Map([['n1', 'it is power off']]) : new Map()) },
    );
    expect(pauses).toBe(1);
    expect(log).toContain('g: pauses (canary n1 is no longer in service: it is power off)');
    expect(log.filter((line) => line === 'g: canaries in service')).toHaveLength(2);
  });

  test('one is lost for good: another takes its place after the pause', () => {
    const { log, pauses } = simulate(
      { canary: { nodes: 1, stay_seconds: 5 } },
      { outOfService: () => new Map([['n1', 'it is in maintenance']]) },
    );
    expect(pauses).toBe(1);
    expect(begins(log)).toEqual(['prepare g: n1', 'prepare g: n2', 'prepare g: n3 n4 n5 n6']);
  });

  test('one is watched while the window is closed, too', () => {
    const { log, pauses } = simulate(
      { canary: { nodes: 1, stay_seconds: 3600 }, window: { from: '00:00', to: '00:10', zone: 'UTC' } },
      { beatMs: 60_000, outOfService: (beat) => (beat >= 20 ? new Map([['n1', 'it is power off']]) : new Map()) },
    );
    expect(pauses).toBe(1);
    expect(log.indexOf('g: pauses (canary n1 is no longer in service: it is power off)')).toBeLessThan(
      log.indexOf('prepare g: n2'),
    );
  });

  test('all nodes are canaries: a failure of the last ones is judged by the criteria, not by a pause', () => {
    const all = { canary: { nodes: 6, stay_seconds: 0 } };
    expect(simulate(all, { outcome: failing('n1') }).pauses).toBe(0);
  });

  test('a node that is late has failed; the group pauses and goes on', () => {
    const { log, pauses, run } = simulate(
      { canary: { nodes: 1, stay_seconds: 0 }, prepare_timeout: 5 },
      { outcome: (node) => ({ state: 'done', beats: node === 'n1' ? 100 : 0 }) },
    );
    expect(pauses).toBe(1);
    expect(log).toContain('g: pauses (canary n1 failed)');
    expect(run.groups[0]?.stage).toBe('success');
    expect(run.nodes.get('n6')?.status).toBe('success');
  });

  test('of a group smaller than its canaries: all of it', () => {
    expect(begins(simulate({ canary: { nodes: 9, stay_seconds: 60 } }).log)).toEqual(['prepare g: n1 n2 n3 n4 n5 n6']);
  });

  test('nodes that were deployed before prove nothing', () => {
    const outcome = () => ({ state: 'done' as const });
    const group = { name: 'g', critical: false, depends_on: [], selectors: [], canary: { nodes: 1, stay_seconds: 0 } };
    const start = planSite({ nodes, strategy: { name: 's', groups: [group], max_parallel_groups: 1 } });
    const deployed = { status: 'success' as const, reason: newRemark('deployed-already') };
    const others = { ...deployed, reason: { code: 'deployed-already-now', arguments: {} } };
    const run = { ...start, nodes: new Map([...start.nodes, ['n1', deployed], ['n2', others]]) };
    expect(begins(simulateSite(run, { outcome }).log)).toEqual(['prepare g: n3', 'prepare g: n4 n5 n6']);
  });
});

test('batches grow, each after the end of the one before, behind the canaries', () => {
  const { log } = simulate({ canary: { nodes: 1, stay_seconds: 0 }, batch: [1, '34%'] });
  expect(begins(log)).toEqual(['prepare g: n1', 'prepare g: n2', 'prepare g: n3 n4', 'prepare g: n5 n6']);
  expect(log).toContain('g: a batch of 2, of which 2 have not ended');
});

describe('nodes out', () => {
  test('in each rack, and of nodes without one together', () => {
    const { log } = simulate({ max_unavailable: [{ nodes: 1, per: 'rack' }] });
    expect(begins(log)).toEqual(['prepare g: n1 n3 n5 n6', 'prepare g: n2 n4']);
    expect(log).toContain('g: rack r1, which has 1 of at most 1 nodes out');
  });

  test('failed nodes are out; when no other may be begun the action pauses, and goes on in spite of them', () => {
    const { log, pauses } = simulate({ max_unavailable: [{ nodes: 1 }] }, { outcome: failing('n1') });
    expect(pauses).toBe(1);
    expect(log).toContain(
      'g: pauses (as many nodes as may be out have failed: n1; unpause begins others in spite of them)',
    );
    expect(begins(log)).toHaveLength(6);
  });
});

describe('failures', () => {
  test('of so many, in all or in per cent: nothing is begun any more', () => {
    const rules = { max_parallel_nodes: 1, deploy_as_prepared: true };
    for (const failed_nodes of [2, '34%']) {
      const { log, pauses } = simulate({ ...rules, pause_on: { failed_nodes } }, { outcome: failing('n1', 'n3') });
      expect(pauses).toBe(1);
      expect(log.indexOf('g: pauses (2 of its nodes failed: n1, n3)')).toBeLessThan(log.indexOf('prepare g: n4'));
    }
  });

  test('for the same cause by the fault’s code; an unknown cause is like no other', () => {
    const failure = (reason: ReturnType<typeof newRemark>) => ({ status: 'failure' as const, reason });
    const flow = (node: string, fault?: string) =>
      failure(newRemark('flow-failed', { node, error: `${node} lacks it`, ...(fault === undefined ? {} : { fault }) }));
    const cases: Record<string, ReturnType<typeof failure>> = {
      n1: flow('n1', 'image_missing'),
      n2: flow('n2', 'bmc_silent'),
      n3: flow('n3', 'image_missing'),
      n4: flow('n4'),
      n5: flow('n5'),
    };
    const group = (pause_on: { failed_nodes?: number; same_cause?: number }, excused: string[] = []) => ({
      definition: { name: 'g', critical: false, depends_on: [], selectors: [], pause_on },
      members: Object.keys(cases),
      stage: 'preparing' as const,
      misses: [],
      rollout: { domains: {}, excused },
    });
    const why = (...given: Parameters<typeof group>) =>
      whyPause(group(...given), (name) => cases[name] ?? { status: 'not_started' });
    expect(why({ same_cause: 2 })).toEqual(newRemark('same-cause', { nodes: ['n1', 'n3'], cause: 'image_missing' }));
    expect(why({ same_cause: 3 })).toBeUndefined();
    expect(why({ same_cause: 2 }, ['n1'])).toBeUndefined();
    expect(why({ failed_nodes: 5 })?.code).toBe('many-failed');
  });
});

test('order: a rack after the other, or one of each in turn', () => {
  const names = [...nodes.keys()].toReversed();
  const order = (manner: 'together' | 'spread', by: string) =>
    planRollout({ order: { by, manner } }, names, nodes).members;
  expect(order('together', 'rack')).toEqual(['n6', 'n5', 'n4', 'n3', 'n2', 'n1']);
  expect(order('spread', 'rack')).toEqual(['n6', 'n5', 'n4', 'n2', 'n3', 'n1']);
  expect(order('together', 'label:pdu')).toEqual(['n6', 'n4', 'n2', 'n5', 'n3', 'n1']);
});

describe('health gates', () => {
  const gate = { name: 'api', http: 'http://api.example/', hold_seconds: 0, patience_seconds: 3 };
  const [good, bad] = [
    { isGood: true, said: 'HTTP 200' },
    { isGood: false, said: 'HTTP 503' },
  ];

  test('nothing begins before a gate has been asked, and has been good for its time', () => {
    const { log, pauses } = simulate(
      { health: [{ ...gate, hold_seconds: 5 }] },
      { gate: (_name, beat) => (beat < 3 ? undefined : good) },
    );
    expect(log.slice(0, 4)).toEqual([
      'g: preparing',
      'g: health gate api, which has not been asked yet',
      'g: health gate api, good since 1970-01-01T00:00:03.000Z, to stay so for 5 s',
      'g: waits no longer',
    ]);
    expect(pauses).toBe(0);
  });

  test('a gate must be good for its time after each batch, and before the group is a success', () => {
    const began: string[] = [];
    const { log } = simulate(
      { health: [{ ...gate, hold_seconds: 10 }], batch: [3] },
      {
        watch: (_run, decisions, now) => {
          for (const each of decisions) {
            if (each.kind === 'begin' || each.kind === 'end group') began.push(`${now / 1000} s: ${each.kind}`);
          }
        },
      },
    );
    expect(began).toEqual(['11 s: begin', '12 s: begin', '23 s: begin', '24 s: begin', '35 s: end group']);
    expect(log).toContain('g: 3 nodes ended');
  });

  test('a gate that turns bad holds the rest at once, and pauses the action after its patience; then it is asked again', () => {
    const { log, pauses } = simulate(
      { health: [gate], batch: [2] },
      { gate: (_name, beat) => (beat >= 2 && beat < 12 ? bad : good) },
    );
    expect(begins(log)).toEqual(['prepare g: n1 n2', 'prepare g: n3 n4', 'prepare g: n5 n6']);
    expect(log.indexOf('prepare g: n3 n4')).toBeGreaterThan(
      log.indexOf(
        'g: health gate api, not good since 1970-01-01T00:00:02.000Z: HTTP 503; unless it is good again by 1970-01-01T00:00:05.000Z the action pauses',
      ),
    );
    const reason = 'g: pauses (health gate api is not good since 1970-01-01T00:00:02.000Z: HTTP 503)';
    expect(log).toContain(reason);
    // each pause asks again, and is patient again
    expect(pauses).toBe(2);
  });

  test('a gate that is bad for less than its patience pauses nothing', () => {
    expect(simulate({ health: [gate] }, { gate: (_name, beat) => (beat % 3 === 2 ? good : bad) }).pauses).toBe(0);
  });

  test('each of several must be good; nobody asks while the window is closed', () => {
    const asked = new Set<string>();
    const { log } = simulate(
      { health: [gate, { ...gate, name: 'db' }], window: { from: '00:05', to: '23:00', zone: 'UTC' } },
      {
        beatMs: 60_000,
        gate: (name, beat) => {
          asked.add(`${name} ${beat < 5 ? 'before' : 'then'}`);
          return name === 'db' && beat < 7 ? undefined : good;
        },
      },
    );
    expect([...asked]).toEqual(['api then', 'db then']);
    expect(log.indexOf('g: health gate db, which has not been asked yet')).toBeLessThan(
      log.indexOf('prepare g: n1 n2 n3 n4 n5 n6'),
    );
  });

  test('a group whose nodes were all deployed before ends whatever its gates say', () => {
    const group = { name: 'g', critical: false, depends_on: [], selectors: [], health: [gate] };
    const start = planSite({ nodes, strategy: { name: 's', groups: [group], max_parallel_groups: 1 } });
    const deployed = { status: 'success' as const, reason: newRemark('deployed-already') };
    const run = { ...start, nodes: new Map([...nodes.keys()].map((name) => [name, deployed])) };
    expect(simulateSite(run, { gate: () => bad }).pauses).toBe(0);
  });
});

describe('skip', () => {
  const health = [{ name: 'api', http: 'http://api.example/', hold_seconds: 0, patience_seconds: 3 }];
  const bad = { isGood: false, said: 'HTTP 503' };
  const from = (first: number, count: number) => (beat: number) => (beat >= first ? count : 0);

  test('the gate that has paused the action is asked no more; the other one is', () => {
    const { log, pauses } = simulate(
      {
        health: [
          ...health,
          { ...health[0], name: 'db', http: 'http://db.example/', hold_seconds: 5, patience_seconds: 3 },
        ],
      },
      { gate: (name) => (name === 'api' ? bad : { isGood: true, said: 'HTTP 200' }), skips: from(5, 1) },
    );
    expect(pauses).toBe(1);
    expect(log).toContain('g: skips health gate api is not good since 1970-01-01T00:00:01.000Z: HTTP 503');
    expect(begins(log)).toEqual(['prepare g: n1 n2 n3 n4 n5 n6']);
    expect(log).toContain('g: health gate db, good since 1970-01-01T00:00:05.000Z, to stay so for 5 s');
  });

  test('a closed window opens for the group, and canaries need stay no longer; limits of nodes out hold', () => {
    const { log } = simulate(
      { window: { from: '10:00', to: '11:00', zone: 'UTC' }, max_unavailable: [{ nodes: 2 }] },
      { skips: from(3, 1) },
    );
    expect(log.slice(1, 3)).toEqual([
      'g: its window, which opens 10:00 UTC',
      'g: skips its window, which opens 10:00 UTC',
    ]);
    expect(begins(log)).toHaveLength(3);
    const canary = simulate({ canary: { nodes: 1, stay_seconds: 3600 } }, { skips: from(4, 1) });
    expect(canary.log).toContain(
      'g: skips canary n1, in service since 1970-01-01T00:00:02.000Z, to stay so for 3600 s',
    );
    expect(begins(canary.log)).toEqual(['prepare g: n1', 'prepare g: n2 n3 n4 n5 n6']);
  });

  test('with nothing in the way a skip goes past nothing, then or later', () => {
    const { log, pauses } = simulate(
      { health },
      { gate: (_name, beat) => (beat < 9 ? bad : { isGood: true, said: 'HTTP 200' }), skips: () => 1 },
    );
    expect(log).toContain('g: skips nothing');
    expect(pauses).toBeGreaterThan(0);
  });
});

describe('a window', () => {
  const at = (text: string) => Date.parse(text);
  const berlin: RolloutWindow = { from: '22:00', to: '05:00', days: ['fri'], zone: 'Europe/Berlin' };

  test('is of local time, and its day that of its beginning', () => {
    // Friday 27 November 2026, an hour ahead of UTC
    expect(isOpen(berlin, at('2026-11-27T20:59:59Z'))).toBe(false);
    expect(isOpen(berlin, at('2026-11-27T21:00:00Z'))).toBe(true);
    expect(isOpen(berlin, at('2026-11-28T03:59:59Z'))).toBe(true);
    expect(isOpen(berlin, at('2026-11-28T04:00:00Z'))).toBe(false);
    expect(isOpen(berlin, at('2026-11-27T01:00:00Z'))).toBe(false);
    // in summer two hours
    expect(isOpen(berlin, at('2026-07-03T20:00:00Z'))).toBe(true);
    const noon = { from: '11:00', to: '13:00', zone: 'UTC' };
    expect([at('2026-11-27T11:00:00Z'), at('2026-11-27T13:00:00Z')].map((now) => isOpen(noon, now))).toEqual([
      true,
      false,
    ]);
  });

  test('nothing is begun before it opens, and what has begun ends', () => {
    const { log } = simulate(
      { window: { from: '00:01', to: '00:02', zone: 'UTC' }, max_parallel_nodes: 4 },
      { outcome: () => ({ state: 'done', beats: 4 }), beatMs: 30_000 },
    );
    expect(log[1]).toBe('g: its window, which opens 00:01 UTC');
    expect(begins(log)[0]).toBe('prepare g: n1 n2 n3 n4');
    // the next two would begin after 00:02
    expect(log.filter((line) => line === 'g: its window, which opens 00:01 UTC')).toHaveLength(2);
    expect(begins(log)[1]).toBe('prepare g: n5 n6');
  });

  test('is in a time zone that there is', () => {
    expect([isTimeZone('Europe/Berlin'), isTimeZone('UTC'), isTimeZone('Mars/Olympus')]).toEqual([true, true, false]);
  });
});
