import type { SiteFault } from '#conductor/model/site/site-report.ts';

/** Adds a fault of the node; messages have no names of nodes in them, so that equal ones can be reported once. */
export type Report = (path: readonly PropertyKey[], message: string, name: string, level?: SiteFault['level']) => void;
