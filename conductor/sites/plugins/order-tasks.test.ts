import { describe, expect, test } from 'vitest';
import { orderTasks } from '#conductor/sites/plugins/order-tasks.ts';
import { type PluginTask, type PluginTasks, parseStage } from '#conductor/sites/plugins/plugin-task.ts';
import * as fc from '#test/fuzz/fast-check.ts';

interface TaskOptions {
  readonly id?: string;
  readonly requires?: readonly string[];
  readonly requiredFor?: readonly string[];
}

const task = (stage: string, { id, requires = [], requiredFor = [] }: TaskOptions = {}): PluginTask => ({
  type: 'shell',
  cmd: './deploy.sh',
  timeout: 42,
  roles: '*',
  stage: parseStage(stage),
  ...(id === undefined ? {} : { id }),
  requires,
  requiredFor,
});
const plugin = (name: string, ...tasks: readonly PluginTask[]): PluginTasks => ({ name, version: '1.0', tasks });
const places = (plugins: readonly PluginTasks[]): string[] =>
  orderTasks(plugins).order.map((each) => `${each.plugin} ${each.number}`);
const faults = (...plugins: readonly PluginTasks[]): string[] =>
  orderTasks(plugins).faults.map(({ message }) => message);

describe('seed 002', () => {
  test('post_deployment/50 of B runs before post_deployment/100 of A', () => {
    const found = places([plugin('A', task('post_deployment/100')), plugin('B', task('post_deployment/50'))]);
    expect(found).toEqual(['B 1', 'A 1']);
  });

  test('Z with pre_deployment/100 is started before A with pre_deployment/200', () => {
    expect(places([plugin('A', task('pre_deployment/200')), plugin('Z', task('pre_deployment/100'))])).toEqual([
      'Z 1',
      'A 1',
    ]);
  });

  test('of the same stage in alphabetic order, A and then Z', () => {
    expect(places([plugin('Z', task('pre_deployment/100')), plugin('A', task('pre_deployment/100'))])).toEqual([
      'A 1',
      'Z 1',
    ]);
  });

  test('without postfix it is 0', () => {
    const one = plugin('a', task('pre_deployment/0.1'), task('pre_deployment'), task('pre_deployment/-0.1'));
    expect(places([one, plugin('b', task('pre_deployment/0'))])).toEqual(['a 3', 'a 2', 'b 1', 'a 1']);
  });

  // DESIGN.md: the seed prints the three zeros first, against its own rule; the rule wins
  test("the example's eight tasks, by the rule", () => {
    const plugin1 = plugin(
      'plugin1',
      task('pre_deployment'),
      task('pre_deployment/100'),
      task('pre_deployment/-100'),
      task('pre_deployment/-99.9'),
    );
    const plugin2 = plugin(
      'plugin2',
      task('pre_deployment'),
      task('pre_deployment/100.0'),
      task('pre_deployment/-101'),
      task('pre_deployment/0'),
    );
    expect(places([plugin1, plugin2])).toEqual([
      'plugin2 3', // -101
      'plugin1 3', // -100
      'plugin1 4', // -99.9
      'plugin1 1',
      'plugin2 1',
      'plugin2 4', // 0
      'plugin1 2', // 100
      'plugin2 2', // 100.0
    ]);
  });
});

test('pre before post, names by code point, one plugin’s by place', () => {
  const stages = [task('post_deployment/-5'), task('pre_deployment/9000'), task('pre_deployment/9000')];
  expect(places([plugin('alpha', ...stages), plugin('Beta', ...stages), plugin('Alpha', ...stages)])).toEqual(
    ['Alpha 2', 'Alpha 3', 'Beta 2', 'Beta 3', 'alpha 2', 'alpha 3'].concat(['Alpha 1', 'Beta 1', 'alpha 1']),
  );
});

describe('dependencies', () => {
  test('what is required comes first, the postfix picks among the ready', () => {
    const a = plugin('a', task('pre_deployment/-10', { id: 'x', requires: ['b/y'] }), task('pre_deployment/1'));
    const b = plugin('b', task('pre_deployment/5', { id: 'y' }), task('pre_deployment/0'));
    expect(places([a, b])).toEqual(['b 2', 'a 2', 'b 1', 'a 1']);
    const c = plugin('c', task('pre_deployment/7', { id: 'z', requiredFor: ['b/y'] }));
    expect(places([a, b, c])).toEqual(['b 2', 'a 2', 'c 1', 'b 1', 'a 1']);
  });

  test('every place has its reason', () => {
    const a = plugin('a', task('pre_deployment/-10', { id: 'x', requires: ['b/y'] }), task('pre_deployment'));
    const b = plugin('b', task('pre_deployment/5', { id: 'y' }), task('pre_deployment/0'), task('pre_deployment/0'));
    const { order } = orderTasks([a, b, plugin('c', task('post_deployment'))]);
    expect(order.map(({ reason }) => reason)).toEqual([
      'first of pre_deployment, with no postfix (0)',
      'postfix 0 as plugin a: task 2 (pre_deployment) has, and b comes after a by name',
      "postfix 0 as task 2 has, which stands before it in b's file",
      'postfix 5 is higher than postfix 0 of plugin b: task 3 (pre_deployment/0)',
      'after b/y, which must come first; postfix -10 alone would put it earlier',
      'first of post_deployment, with no postfix (0)',
    ]);
  });

  test('across stages: a later stage may require an earlier one, not the other way round', () => {
    const early = plugin('a', task('pre_deployment', { id: 'x' }));
    expect(places([plugin('b', task('post_deployment', { id: 'y', requires: ['a/x'] })), early])).toEqual([
      'a 1',
      'b 1',
    ]);
    expect(
      faults(
        plugin('b', task('pre_deployment', { requires: ['c/y'] })),
        plugin('c', task('post_deployment', { id: 'y' })),
      ),
    ).toEqual([
      'plugin b: task 1 (pre_deployment): requires names c/y, but plugin b: task 1 (pre_deployment) runs before the image is written and plugin c: task 1 (post_deployment) after it',
    ]);
  });

  test('an unknown one, a circle, oneself, a plugin twice', () => {
    expect(faults(plugin('a', task('pre_deployment', { id: 'x', requires: ['b/y'] })))).toEqual([
      'plugin a: task 1 (pre_deployment): requires names b/y, which no task of these plugins is: there are a/x',
    ]);
    const circle = plugin(
      'a',
      task('pre_deployment', { id: 'x', requires: ['a/z'] }),
      task('pre_deployment', { id: 'y', requires: ['a/x'] }),
      task('pre_deployment', { id: 'z', requires: ['a/y'] }),
      task('pre_deployment', { requires: ['a/z'] }),
    );
    expect(faults(circle)).toEqual(['these tasks wait for each other: a/y → a/z → a/x → a/y']);
    expect(faults(plugin('a', task('pre_deployment', { id: 'x', requires: ['a/x'] })))).toEqual([
      'these tasks wait for each other: a/x → a/x',
    ]);
    expect(faults(plugin('a', task('pre_deployment')), plugin('a', task('pre_deployment')))).toEqual([
      'plugin a is named twice: a site has one version of a plugin',
    ]);
  });
});

describe('of any plugins', () => {
  const stage = fc
    .record({
      name: fc.constantFrom('pre_deployment', 'post_deployment'),
      postfix: fc.option(fc.constantFrom('0', '-0', '100', '+100', '100.0', '-100', '-99.9', '.5', '8000')),
    })
    .map(({ name, postfix }) => (postfix === null ? name : `${name}/${postfix}`));
  const tasks = fc.array(
    stage.map((text) => task(text)),
    { maxLength: 4 },
  );
  const someNames = fc.uniqueArray(fc.constantFrom('Alpha', 'Beta', 'alpha', 'ntp', 'z', 'a-b', 'a.b'), {
    minLength: 1,
  });
  const plugins = someNames.chain((names) =>
    fc.tuple(...names.map((name) => tasks.map((each) => plugin(name, ...each)))),
  );
  /** With dependencies that lead from what comes earlier in some order of their own to what comes later: no circles. */
  const linked = fc.tuple(plugins, fc.infiniteStream(fc.nat())).map(([some, numbers]) => {
    const ids: { readonly id: string; readonly rank: number; readonly stage: string }[] = [];
    return some.map(({ name, tasks: own, ...rest }) => ({
      ...rest,
      name,
      tasks: own.map((each, index) => {
        const rank = numbers.next().value ?? 0;
        const earlier = ids.filter((other) => other.stage === each.stage.name && other.rank < rank);
        const later = ids.filter((other) => other.stage === each.stage.name && other.rank > rank);
        const id = `t${index}`;
        ids.push({ id: `${name}/${id}`, rank, stage: each.stage.name });
        const pick = (list: typeof ids) =>
          list.filter(() => (numbers.next().value ?? 0) % 3 === 0).map((one) => one.id);
        return { ...each, id, requires: pick(earlier), requiredFor: pick(later) };
      }),
    }));
  });

  test('each task has one place, whatever the order of the plugins', () => {
    fc.assert(
      fc.property(linked, fc.infiniteStream(fc.nat()), (some, numbers) => {
        const found = places(some);
        expect(new Set(found).size).toBe(some.flatMap(({ tasks: own }) => own).length);
        const shuffled = some.map((each) => [numbers.next().value ?? 0, each] as const).sort(([a], [b]) => a - b);
        expect(places(shuffled.map(([, each]) => each))).toEqual(found);
      }),
    );
  });

  test('dependencies hold, and stages stay apart', () => {
    fc.assert(
      fc.property(linked, (some) => {
        const { order } = orderTasks(some);
        const ids = order.map((each) => `${each.plugin}/${each.task.id}`);
        for (const [index, { task: each }] of order.entries()) {
          for (const id of each.requires) expect(ids.indexOf(id)).toBeLessThan(index);
          for (const id of each.requiredFor) expect(ids.indexOf(id)).toBeGreaterThan(index);
        }
        const stages = order.map(({ task: each }) => each.stage.name);
        expect(stages).toEqual(stages.toSorted((a, b) => (a === b ? 0 : a === 'pre_deployment' ? -1 : 1)));
      }),
    );
  });

  test('one that has nothing to do with them changes nothing', () => {
    fc.assert(
      fc.property(linked, tasks, (some, own) => {
        const found = places([...some, plugin('unrelated', ...own)]);
        expect(found.filter((each) => !each.startsWith('unrelated'))).toEqual(places(some));
      }),
    );
  });

  test('without dependencies it is a plain sort by stage, number, name, place', () => {
    fc.assert(
      fc.property(plugins, (some) => {
        const sorted = some
          .flatMap(({ name, tasks: own }) => own.map((each, index) => ({ name, number: index + 1, stage: each.stage })))
          .sort(
            (a, b) =>
              Number(a.stage.name === 'post_deployment') - Number(b.stage.name === 'post_deployment') ||
              Number(a.stage.postfix ?? 0) - Number(b.stage.postfix ?? 0) ||
              (a.name < b.name ? -1 : a.name > b.name ? 1 : a.number - b.number),
          );
        expect(places(some)).toEqual(sorted.map(({ name, number }) => `${name} ${number}`));
      }),
    );
  });
});
