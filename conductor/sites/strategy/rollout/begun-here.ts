import type { NodeRun } from '#conductor/model/site/site-run.ts';

/** Part that a node has in its group's rollout so far. All of it is pure. */

export function isUntouched({ status, work }: NodeRun): boolean {
  return status === 'not_started' && work === undefined;
}

export function hasEnded({ status }: NodeRun): boolean {
  return status === 'success' || status === 'failure';
}

/** Whether the action has begun something with it: a node that was deployed before it proves nothing, and is not out. */
export function isBegunHere(node: NodeRun): boolean {
  const isOthers = node.work === undefined && node.reason?.code === 'deployed-already-now';
  return !isUntouched(node) && !wasDeployedBefore(node) && !isOthers;
}

export function isOut(node: NodeRun, isExcused: boolean): boolean {
  if (node.status === 'failure') return !isExcused;
  return isBegunHere(node) && !hasEnded(node);
}

const deployedBefore: readonly (string | undefined)[] = ['deployed-already', 'outdated', 'deployed-elsewhere'];

/** Recognizes a node that the site had deployed before the action. */
export function wasDeployedBefore({ work, reason }: NodeRun): boolean {
  return work === undefined && deployedBefore.includes(reason?.code);
}
