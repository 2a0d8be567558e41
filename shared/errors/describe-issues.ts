import type { z } from 'zod';

type Refusal = Pick<z.ZodError, 'issues'>;

/** Everything that a schema refused, each as `field.subfield: reason`. @param whole what a fault of no field is called */
export function listIssues({ issues }: Refusal, whole?: string): string[] {
  return issues.map(({ path, message }) => {
    const place = path.join('.') || whole;
    return place === undefined ? message : `${place}: ${message}`;
  });
}

/** As `listIssues`, in one line. */
export function describeIssues(refusal: Refusal, whole?: string): string {
  return listIssues(refusal, whole).join('; ');
}
