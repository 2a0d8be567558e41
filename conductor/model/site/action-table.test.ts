import { expect, test } from 'vitest';
import { readActionName, readActionParameters } from '#conductor/model/site/action-table.ts';

test('what is misspelt is answered with what was probably meant', () => {
  expect(() => readActionName('teardown-servre')).toThrow("no action 'teardown-servre'; did you mean teardown_server?");
  expect(() => readActionName('explode')).toThrow(/no action 'explode'; must be one of deploy_site, /);
  const read = (key: string) => () => readActionParameters('teardown_server', { target_nodes: 'n1', [key]: 'true' });
  expect(read('preserve_local_storage')).toThrow(
    'did you mean preserve-local-storage? teardown_server has target_nodes',
  );
  expect(read('colour')).toThrow('parameters.colour: teardown_server has no such parameter; teardown_server has');
});

test('what Shipyard has and Baton has not is refused with what to do instead', () => {
  expect(() => readActionName('update_software')).toThrow('update_software is not supported: Baton deploys no charts');
  expect(() => readActionName('test_site')).toThrow('test_site is not supported: Baton runs no tests of the software');
});

test('continue-on-fail is taken by both actions that deploy a site, as Shipyard’s clients send it', () => {
  for (const name of ['deploy_site', 'update_site'] as const)
    expect(readActionParameters(name, { 'continue-on-fail': 'true' })).toEqual({ 'continue-on-fail': true });
});
