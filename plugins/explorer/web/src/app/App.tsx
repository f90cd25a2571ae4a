import { QueryClientProvider, useQuery } from "@tanstack/react-query";
import { Router } from "wouter";

import { SignInGate } from "../session/SignInGate";
import { loadConfiguration } from "../session/configuration";
import { Boundary } from "./Boundary";
import { NoticeRegion } from "./NoticeRegion";
import { OutageBanner } from "./OutageBanner";
import { Routes } from "./Routes";
import { Waiting } from "./Waiting";
import { ROUTES_BASE } from "./addresses";
import { queryClient } from "./queryClient";
import { Failure } from "./Failure";

/** The whole page: configuration, sign-in, routes, notices. */
export function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <OutageBanner />
      <Router base={ROUTES_BASE}>
        <Boundary name="The explorer">
          <Configured />
        </Boundary>
      </Router>
      <NoticeRegion />
    </QueryClientProvider>
  );
}

function Configured() {
  const { data, error, refetch } = useQuery({
    queryKey: ["configuration"],
    queryFn: loadConfiguration,
    staleTime: Infinity,
  });
  // What is known stays in use where it could not be read anew, as while the service restarts.
  if (error !== null && data === undefined) {
    return (
      <Failure title="The explorer cannot start" error={error} onRetry={() => void refetch()} />
    );
  }
  if (data === undefined) return <Waiting label="Starting" />;
  return (
    <SignInGate configuration={data}>
      <Routes configuration={data} />
    </SignInGate>
  );
}
