import type { NodePhase } from '#conductor/model/site/site-run.ts';
import type { NodeCourse } from '#conductor/sites/rehearsal/engine/course.ts';
import type { AskedFailure, AskedFailures } from '#conductor/sites/rehearsal/engine/rehearse.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { didYouMean, nameSome } from '#shared/words.ts';

const namedAtMost = 12;

/**
 * Reads failures that are asked for: `n1@deploy.write_image`, `5%`. Pure.
 * @throws AppError `invalid_argument` for a node that the action has not, or a step that is not part of its course
 */
export function readFailures(given: readonly string[], courses: ReadonlyMap<string, NodeCourse>): AskedFailures {
  const nodes = new Map<string, AskedFailure>();
  let share: number | undefined;
  for (const text of given) {
    const percent = /^(\d{1,3}(?:\.\d+)?)%$/.exec(text)?.[1];
    if (percent !== undefined) {
      if (share !== undefined) throw refused(text, 'one share of all nodes is given already');
      if (Number(percent) > 100) throw refused(text, 'it must be 0% to 100%');
      share = Number(percent) / 100;
      continue;
    }
    const [, node = '', at = ''] = /^([^@]+)@(.+)$/.exec(text) ?? [];
    if (node === '')
      throw refused(text, 'it must be NODE@STEP, as in n1@deploy.write_image, or a share of all nodes, 5%');
    const course = courses.get(node);
    if (!course) {
      const names = [...courses.keys()];
      throw refused(
        text,
        `the action has no node ${node}${didYouMean(node, names)}; it has ${nameSome(names, namedAtMost)}`,
      );
    }
    if (nodes.has(node)) throw refused(text, `a failure of ${node} is given already`);
    nodes.set(node, { phase: phaseOf(course, at, { text, node }), at });
  }
  return { nodes, share: share ?? 0 };
}

function phaseOf(course: NodeCourse, at: string, about: { readonly text: string; readonly node: string }): NodePhase {
  const places = (['prepare', 'deploy'] as const).flatMap((phase) => {
    const { flows } = course[phase];
    const within = flows.flatMap(({ kind, steps = [] }) => [kind, ...steps.map(({ title }) => title)]);
    return (flows.length === 0 ? [] : [phase, ...within]).map((place) => ({ phase, place }));
  });
  const found = places.find(({ place }) => place === at);
  if (found) return found.phase;
  const names = [...new Set(places.map(({ place }) => place))];
  if (names.length === 0) throw refused(about.text, `nothing is done to ${about.node} that could fail`);
  throw refused(
    about.text,
    `${about.node} comes to no step ${at}${didYouMean(at, names)}; it can fail at ${nameSome(names, 40)}`,
  );
}

function refused(text: string, why: string): AppError {
  return new AppError('invalid_argument', `fail: ${text}: ${why}`);
}
