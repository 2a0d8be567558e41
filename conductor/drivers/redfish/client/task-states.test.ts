import { expect, test } from 'vitest';
import { bmcMessage } from '#conductor/drivers/redfish/client/errors.ts';
import { monitorOf } from '#conductor/drivers/redfish/client/task.ts';
import { lookAtAnswer, lookAtTask, taskStates } from '#conductor/drivers/redfish/client/task-states.ts';

/** DMTF's `TaskStatus` is a Health; a BMC may leave it out. */
const statuses = ['OK', 'Warning', 'Critical', null, undefined] as const;

const look = (body: unknown, status = 200) => lookAtTask({ status, body }).state;
const expected: Readonly<Record<string, string>> = {
  New: 'pending',
  Pending: 'pending',
  Starting: 'pending',
  Suspended: 'pending',
  Exception: 'failed',
  Killed: 'failed',
  Cancelled: 'failed',
  Invalid: 'failed',
  Scheduled: 'pending',
  ScheduledWithErrors: 'pending',
  ReadyForExecution: 'pending',
  RebootPending: 'pending',
  PendingActivation: 'pending',
  Failed: 'failed',
  CompletedWithErrors: 'failed',
  RebootFailed: 'failed',
};

test.each(taskStates.flatMap((state) => statuses.map((status) => [state, status] as const)))(
  'a task that is %s with status %s',
  (TaskState, TaskStatus) => {
    const ends = TaskStatus === 'Critical' ? 'failed' : 'done';
    const wanted = TaskState === 'Completed' ? ends : (expected[TaskState] ?? 'running');
    expect(look({ TaskState, TaskStatus })).toBe(wanted);
    // a task itself is always 200, its monitor 202 while it runs: the word counts
    expect(look({ TaskState, TaskStatus }, 202)).toBe(wanted);
    // a monitor may lead to a job
    expect(look({ JobState: TaskState, JobStatus: TaskStatus })).toBe(wanted);
  },
);

const dell = (JobState: string) => ({ Oem: { Dell: { JobState } } });
const ofJobs = taskStates.filter((state) => state !== 'RebootCompleted');

test.each(ofJobs)('a task of Dell that has completed is as its job, which is %s', (state) => {
  expect(look({ TaskState: 'Completed', ...dell(state) })).toBe(look({ TaskState: state }));
  expect(look({ TaskState: 'Running', ...dell(state) })).toBe('running');
  expect(look({ TaskState: 'Exception', ...dell(state) })).toBe('failed');
  expect(look(dell(state))).toBe(look({ TaskState: state }));
});

test('a job of Dell that restarts the machine ends by it, and one that has failed is named', () => {
  expect(look({ TaskState: 'Completed', ...dell('RebootCompleted') })).toBe('done');
  const failed = lookAtTask({ status: 200, body: { TaskState: 'Completed', ...dell('CompletedWithErrors') } });
  expect(failed).toEqual({ state: 'failed', why: "the BMC's task ended as CompletedWithErrors" });
});

test('a word that nobody has defined is no end, and neither is a page', () => {
  expect(look({ TaskState: 'AlmostDone' })).toBe('running');
  expect(look('<html>starting</html>')).toBe('unclear');
  expect(lookAtAnswer({ status: 200, body: '<html>starting</html>' }).state).toBe('unclear');
  expect(look(undefined, 202)).toBe('running');
});

test('what a request is answered without a task is its end; a monitor has to answer what was asked for', () => {
  const body = { '@odata.id': '/redfish/v1/Systems/1/Storage/1/Volumes/1', Name: 'v' };
  expect(look(undefined, 204)).toBe('done');
  expect(lookAtTask({ status: 200, body }, true).state).toBe('done');
  expect(look(body)).toBe('unclear');
  expect(lookAtAnswer({ status: 200, body }).state).toBe('done');
  expect(lookAtAnswer({ status: 202, body: undefined }).state).toBe('running');
});

test('an iDRAC that completes a task with status Critical has failed it, in its own words', () => {
  const body = { TaskState: 'Completed', TaskStatus: 'Critical', Messages: [{ MessageId: 'JCP052' }] };
  expect(lookAtTask({ status: 200, body })).toEqual({
    state: 'failed',
    why: "the BMC's task ended as Completed with status Critical: JCP052",
  });
  const untold = { TaskState: 'Completed', Messages: [{ Message: 'no progress', MessageSeverity: 'Critical' }] };
  expect(look(untold)).toBe('failed');
});

test('a job of Dell that has failed says why in words of its own', () => {
  const body = { JobState: 'CompletedWithErrors', Message: 'Unable to create it.', MessageId: 'STOR023' };
  expect(lookAtTask({ status: 200, body })).toEqual({
    state: 'failed',
    why: "the BMC's task ended as CompletedWithErrors: Unable to create it.",
  });
  const place = '/redfish/v1/JobService/Jobs/JID_43';
  const asTask = { status: 200, headers: {}, body: { '@odata.id': place, JobState: 'Running' } };
  expect(monitorOf(asTask, 'https://192.0.2.1')).toBe(place);
});

test("a BMC's words about an image are repeated without what its address is made of", () => {
  const token = 'Ab3_'.repeat(11).slice(0, 43);
  const image = `http://192.0.2.1/media/9d1f6e0e-6a3b-4b0e-9f6e-0a5f0d9c7b11/${token}.iso`;
  const Message = `Unable to fetch ${image}.`;
  const failed = lookAtTask({ status: 200, body: { TaskState: 'Exception', Messages: [{ Message }] } });
  expect(JSON.stringify(failed)).not.toContain(token);
  expect(bmcMessage({ error: { code: 'Base.1.0.GeneralError', message: Message } })).toBe(
    'Unable to fetch http://192.0.2.1/media/9d1f6e0e-6a3b-4b0e-9f6e-0a5f0d9c7b11/******.iso.',
  );
});
