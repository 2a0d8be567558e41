import type { Fault } from '#test/simulators/redfish/faults.ts';
import type { RedfishSimulator } from '#test/simulators/redfish/simulator.ts';

/** Faults of BMCs that do what they are asked for, or will do it, and do not say so clearly. */

/** Calls that are struck: of writes the first, and each thing that is read. */
export const struck: readonly { readonly method: string; readonly path: RegExp }[] = [
  { method: 'POST', path: /Sessions$/ },
  { method: 'POST', path: /Reset$/ },
  { method: 'POST', path: /InsertMedia$/ },
  { method: 'POST', path: /EjectMedia$/ },
  { method: 'POST', path: /SimpleUpdate$/ },
  { method: 'PATCH', path: /Systems\/[^/]+$/ },
  { method: 'PATCH', path: /Bios\/[^/]+$/i },
  { method: 'PATCH', path: /Systems\/[^/]+\/(SD|Settings)$/ },
  { method: 'GET', path: /Systems\/[^/]+$/ },
  { method: 'GET', path: /VirtualMedia$/ },
  { method: 'GET', path: /Managers\/[^/]+$/ },
];

const gone = (location: string) => ({ actsAs: 202, headers: { Location: `/redfish/v1/TaskService/${location}` } });
const page = '<html><body>Please wait</body></html>';

/** Faults that strike each call once: the BMC does it, or is not there. */
export const unclear: readonly (readonly [what: string, fault: Partial<Fault>, ofReads: boolean])[] = [
  ['its answer is lost', { dropAnswer: true }, true],
  ['the connection is cut before', { drop: true }, true],
  ['its monitor is gone', gone('Monitors/1'), false],
  ['its monitor fails for a while', gone('Monitors/2'), false],
  ['its Location is a task, which is always 200', gone('Tasks/3'), false],
  ['it is accepted without a task', { actsAs: 202 }, false],
  ['it is called a failure', { actsAs: 500 }, false],
  ['the web server fails', { status: 500 }, true],
  ['the web server is away', { status: 503 }, true],
  ['the login is unknown', { status: 401 }, true],
  ['the session is forbidden', { status: 403 }, true],
  ['a page comes in its place', { body: page }, true],
  ['a page comes with 404', { status: 404, body: page }, true],
];

/** Has each call meet the fault once. */
export function strike(simulator: RedfishSimulator, fault: Partial<Fault>, ofReads: boolean): void {
  simulator.inject({ path: /Monitors\/2$/, status: 500, times: 8 });
  simulator.inject({ path: /Tasks\/3$/, body: { TaskState: 'Running' }, times: 2 });
  simulator.inject({ path: /Tasks\/3$/, body: { TaskState: 'Completed' }, times: 99 });
  for (const call of struck) {
    // an update is begun once, and then judged by its versions
    const isLeft = /Sessions|SimpleUpdate/.test(call.path.source) || (call.method === 'GET' && !ofReads);
    if (!isLeft) simulator.inject({ ...call, ...fault });
  }
}
