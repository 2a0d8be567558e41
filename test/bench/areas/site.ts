import type { Area } from '#test/bench/area.ts';
import { measureSiteDeploy } from '#test/bench/areas/site-deploy.ts';
import { measureSiteLook } from '#test/bench/areas/site-look.ts';
import { measureSitePlan } from '#test/bench/areas/site-plan.ts';
import { measureSiteRender } from '#test/bench/areas/site-render.ts';

/** A site by documents: what planning 10,000 nodes and rendering 1,000 documents costs, looking at them, and deploying 1,000 simulated ones. */
export const siteArea: Area = {
  name: 'site',
  measure: async (context) => ({
    ...measureSitePlan(context),
    ...measureSiteRender(context),
    ...(await measureSiteLook()),
    ...(await measureSiteDeploy(context)),
  }),
};
