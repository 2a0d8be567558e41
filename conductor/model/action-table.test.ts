import { expect, test } from 'vitest';
import { readActionName, readActionParameters } from '#conductor/model/action-table.ts';

test('what is misspelt is answered with what was probably meant', () => {
  expect(() => readActionName('teardown-servre')).toThrow("no action 'teardown-servre'; did you mean teardown_server?");
  expect(() => readActionName('explode')).toThrow(/no action 'explode'; must be one of deploy_site, /);
  const read = (key: string) => () => readActionParameters('teardown_server', { target_nodes: 'n1', [key]: 'true' });
  expect(read('preserve_local_storage')).toThrow(
    'did you mean preserve-local-storage? teardown_server has target_nodes',
  );
  expect(read('colour')).toThrow('parameters.colour: teardown_server has no such parameter; teardown_server has');
});
