import { expect, test } from 'vitest';
import { redfishRecorder } from '#conductor/drivers/redfish/record.ts';
import { AppError } from '#shared/errors/app-error.ts';

const link = (path: string) => ({ '@odata.id': `/redfish/v1${path}` });

/** A BMC of these resources. */
function recorderOf(resources: Readonly<Record<string, unknown>>) {
  const asked: string[] = [];
  const recorder = redfishRecorder({
    request: async ({ method, path }) => {
      asked.push(`${method} ${path}`);
      const body = resources[path.replace(/^\/redfish\/v1/, '')];
      if (body === undefined) throw new AppError('bmc_error', `GET ${path} answered 404`);
      return Promise.resolve({ status: 200, headers: {}, body });
    },
  });
  return { recorder, asked };
}

test('the tree is followed by GET alone, each resource once, accounts and logs left out', async () => {
  const { recorder, asked } = recorderOf({
    '/': { Systems: link('/Systems'), AccountService: link('/AccountService'), Tasks: link('/TaskService') },
    '/Systems': { ...link('/Systems'), Members: [link('/Systems/1'), link('/Systems/2')] },
    '/Systems/1': {
      ...link('/Systems/1/'),
      LogServices: link('/Systems/1/LogServices'),
      Part: link('/Systems/1#/Oem'),
    },
  });
  const { outputs, faults } = await recorder.record();
  expect(Object.keys(outputs)).toEqual(['GET /redfish/v1/', 'GET /redfish/v1/Systems', 'GET /redfish/v1/Systems/1']);
  expect(JSON.parse(outputs['GET /redfish/v1/Systems'] ?? '')).toMatchObject({ Members: [{}, {}] });
  expect(faults).toEqual(['GET /redfish/v1/Systems/2 answered 404']);
  expect(asked).toHaveLength(4);
});

test('a BMC without end is cut, and the recording says so', async () => {
  const members = Array.from({ length: 400 }, (_, index) => link(`/Chassis/${index}`));
  const each = Object.fromEntries(members.map((_, index) => [`/Chassis/${index}`, {}]));
  const { outputs, faults } = await recorderOf({ '/': { members }, ...each }).recorder.record();
  expect(Object.keys(outputs)).toHaveLength(250);
  expect(faults).toEqual(['only the first 250 resources; 151 more were linked to']);
});

test('without a service root there is nothing to record', async () => {
  await expect(recorderOf({}).recorder.record()).rejects.toThrow('answered 404');
});
