import { randomInt, randomUUID } from 'node:crypto';
import { type Answer, errorAnswer } from '#test/simulators/redfish/answers.ts';
import { collection } from '#test/simulators/redfish/service-resources.ts';
import type { ServiceState } from '#test/simulators/redfish/service-state.ts';

/** Does it at once, or as a task that is asked after; however this BMC answers. */
export async function perform(state: ServiceState, act: () => Promise<void>): Promise<Answer> {
  const { quirks } = state;
  if (!quirks.tasks) {
    await act();
    return quirks.answerWithBody ? { ...errorAnswer(200, 'Success'), headers: {} } : { status: 204 };
  }
  if (!quirks.failTasks) await act();
  const id = newId(state.quirks);
  state.tasks.set(id, { polls: quirks.taskPolls, failed: quirks.failTasks });
  return { status: 202, headers: { Location: monitorPath(id) }, body: task(id, 'Running') };
}

/** A task that runs until somebody ends it. */
export function startTask({ tasks, quirks }: Pick<ServiceState, 'tasks' | 'quirks'>): {
  readonly id: string;
  readonly answer: Answer;
} {
  const id = newId(quirks);
  tasks.set(id, { polls: Number.POSITIVE_INFINITY, failed: false });
  return { id, answer: { status: 202, headers: { Location: monitorPath(id) }, body: task(id, 'Running') } };
}

/** Works until then without losing power, and has then done it. */
export function workUntil({ atWork }: ServiceState, until: Promise<unknown>, act: () => void): void {
  atWork.count += 1;
  void until.then(() => {
    atWork.count -= 1;
    act();
  });
}

/** Changes BIOS settings at the machine's next reset: as a task of then, with the quirk `biosTaskEnds`. */
export async function performAtReset(state: ServiceState, act: () => Promise<void>): Promise<Answer> {
  if (state.quirks.biosTaskEnds === undefined) return perform(state, act);
  await act();
  const id = newId(state.quirks);
  state.biosTasks.add(id);
  return awaitReset(state, id);
}

/** A task that begins with the machine's next reset, and is not followed to its end here. */
export function awaitReset(state: ServiceState, id: string): Answer {
  state.tasks.set(id, { polls: Number.POSITIVE_INFINITY, failed: false, shown: 'Pending' });
  return { status: 202, headers: { Location: monitorPath(id) }, body: task(id, 'Pending') };
}

/** Forgets tasks, as at a restart of the service. */
export function forgetTasks({ tasks, quirks }: Pick<ServiceState, 'tasks' | 'quirks'>): void {
  if (!quirks.dellJobs) tasks.clear();
  for (const each of tasks.values()) each.isForgotten = true;
}

function isGone({ polls, isForgotten = false }: { readonly polls: number; readonly isForgotten?: boolean }): boolean {
  return isForgotten || polls <= 0;
}

export function pollTask(state: ServiceState, id: string): Answer {
  const found = state.tasks.get(id);
  if (!found || (state.quirks.dellJobs && isGone(found))) return errorAnswer(404, 'ResourceNotFound');
  if (found.polls > 0) {
    found.polls -= 1;
    return { status: 202, headers: { Location: monitorPath(id) }, body: task(id, found.shown ?? 'Running') };
  }
  return { status: 200, body: task(id, found.failed ? 'Exception' : 'Completed') };
}

function newId({ dellJobs }: ServiceState['quirks']): string {
  return dellJobs ? `JID_${randomInt(1e12).toString().padStart(12, '0')}` : randomUUID().slice(0, 8);
}

const monitorPath = (id: string): string => `/redfish/v1/TaskService/TaskMonitors/${id}`;

const tasksPath = '/redfish/v1/TaskService/Tasks';

/** Counts a look at a task itself, as one at its monitor. */
export function lookAtListed({ tasks }: ServiceState, path: string): void {
  const found = tasks.get(path.startsWith(`${tasksPath}/`) ? path.slice(tasksPath.length + 1) : '');
  if (found && found.polls > 0) found.polls -= 1;
}

/** The list of tasks, and each as itself, by path. */
export function taskResources({ tasks, taskTargets, quirks }: ServiceState): Record<string, Record<string, unknown>> {
  if (quirks.taskList === 'empty') return {};
  const ids = [...tasks.entries()].flatMap(([id, each]) => (quirks.dellJobs && isGone(each) ? [] : [id]));
  const shown = ids.map((id) => {
    const { polls = 0, failed = false, shown: word = 'Running' } = tasks.get(id) ?? {};
    const { '@odata.id': path, ...about } = task(id, polls > 0 ? word : failed ? 'Exception' : 'Completed');
    const target = quirks.taskList === 'with requests' ? taskTargets.get(id) : undefined;
    if (quirks.dellJobs) return [path, { ...about, Oem: { Dell: dellJob(id, tasks, taskTargets) } }] as const;
    return [path, { ...about, ...(target && { Payload: { HttpOperation: 'POST', TargetUri: target } }) }] as const;
  });
  return {
    [tasksPath]: collection(
      'TaskCollection',
      'Tasks',
      ids.map((id) => `${tasksPath}/${id}`),
    ),
    ...Object.fromEntries(shown),
    ...(quirks.dellJobs ? jobResources(tasks, taskTargets) : {}),
  };
}

function jobResources(
  tasks: ServiceState['tasks'],
  targets: ServiceState['taskTargets'],
): Record<string, Record<string, unknown>> {
  const jobs = [...tasks.keys()].map((id) => {
    const about = { '@odata.type': '#Job.v1_1_0.Job', Id: id, ...dellJob(id, tasks, targets) };
    return [`/redfish/v1/JobService/Jobs/${id}`, about] as const;
  });
  return Object.fromEntries(jobs);
}

/** Words of the job of a task, as issues 313 and 319 of the same repository show them. */
function dellJob(
  id: string,
  tasks: ServiceState['tasks'],
  targets: ServiceState['taskTargets'],
): Record<string, unknown> {
  const { polls = 0, failed = false, shown = 'Running' } = tasks.get(id) ?? {};
  const isBios = targets.get(id)?.includes('/Bios') ?? false;
  const state = polls > 0 ? (shown === 'Pending' ? 'Scheduled' : 'Running') : failed ? 'Failed' : 'Completed';
  return {
    JobState: state,
    JobType: isBios ? 'BIOSConfiguration' : 'FirmwareUpdate',
    Name: isBios ? 'Configure: BIOS.Setup.1-1' : 'Firmware Update',
    Message: state === 'Failed' ? 'Unable to complete the job on purpose.' : `The job is ${state}.`,
    MessageId: 'PR19',
    PercentComplete: polls > 0 ? 0 : 100,
  };
}

function task(
  id: string,
  taskState: 'Pending' | 'Running' | 'Completed' | 'Exception',
): Record<string, unknown> & { readonly '@odata.id': string } {
  return {
    '@odata.id': `/redfish/v1/TaskService/Tasks/${id}`,
    '@odata.type': '#Task.v1_5_0.Task',
    Id: id,
    Name: `Task ${id}`,
    TaskState: taskState,
    TaskStatus: taskState === 'Exception' ? 'Critical' : 'OK',
    TaskMonitor: monitorPath(id),
    Messages:
      taskState === 'Exception'
        ? [{ MessageId: 'Base.1.8.InternalError', Message: 'The task failed on purpose.' }]
        : [],
  };
}
