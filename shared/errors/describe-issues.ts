import type { z } from 'zod';

type Refusal = Pick<z.ZodError, 'issues'>;

/** More help nobody: a stranger's body of a million wrong values would be answered with a million sentences. */
const mostIssues = 20;
/** Characters of one: names of unknown fields stand in it, which are as long and as many as their writer likes. */
const longestIssue = 1_000;

/**
 * Lists what a schema refused, each as `field.subfield: reason`; of many the first, and how many more there are.
 * @param whole what a fault of no field is called
 */
export function listIssues({ issues }: Refusal, whole?: string): string[] {
  return firstIssues(issues, ({ path, message }) => {
    const place = path.join('.') || whole;
    return place === undefined ? message : `${place}: ${message}`;
  });
}

/** Returns the first of a schema's issues in words, each cut to a length that can be read. */
export function firstIssues<Issue>(issues: readonly Issue[], describe: (issue: Issue) => string): string[] {
  const more = issues.length - mostIssues;
  return [
    ...issues.slice(0, mostIssues).map((issue) => {
      const text = describe(issue);
      return text.length > longestIssue ? `${text.slice(0, longestIssue)}…` : text;
    }),
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
}

/** Describes the issues that `listIssues` lists in one line. */
export function describeIssues(refusal: Refusal, whole?: string): string {
  return listIssues(refusal, whole).join('; ');
}
